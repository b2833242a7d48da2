//! Built-in workflows, as texts of workflow files: users can print one and change it.

/// Names and texts of the built-in workflows.
pub const BUILTINS: &[(&str, &str)] = &[
    ("archon", include_str!("builtin/archon.toml")),
    ("plan-work-review", include_str!("builtin/plan-work-review.toml")),
    ("ralph", include_str!("builtin/ralph.toml")),
];

/// Returns the text of the built-in workflow with this name.
pub fn builtin(name: &str) -> Option<&'static str> {
    BUILTINS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests;
