//! Built-in workflows, as texts of workflow files.

/// Names and texts of the built-in workflows.
pub const BUILTINS: &[(&str, &str)] = &[
    ("ralph", include_str!("builtin/ralph.toml")),
    ("plan-work-review", include_str!("builtin/plan-work-review.toml")),
];

/// Returns the text of the built-in workflow with this name.
pub fn builtin(name: &str) -> Option<&'static str> {
    BUILTINS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
