use super::{Credential, JudgeSettings};

/// Checks the settings from these variables, and that no debug output contains the credential.
fn check(variables: &[(&str, &str)], base_url: &str, model: &str, credential: Option<Credential>) {
    let variable = |name: &str| {
        variables.iter().find(|(variable, _)| *variable == name).map(|(_, value)| (*value).to_owned())
    };
    let settings = JudgeSettings::from_variables(variable);
    assert!(!format!("{settings:?}").contains("secret"), "{settings:?}");
    let (base_url, model) = (base_url.to_owned(), model.to_owned());
    let expected = JudgeSettings { base_url, model, credential, cloud: None };
    assert!(settings == expected, "{variables:?}: {settings:?}");
}

const API: &str = "https://api.anthropic.com";
const MODEL: &str = "claude-sonnet-4-5-20250929";

#[test]
fn uses_priority_of_hooks() {
    let key = |key: &str| Some(Credential::Key(key.to_owned()));
    let token = |token: &str| Some(Credential::Token(token.to_owned()));
    check(&[], API, MODEL, None);
    let all = [
        ("AGENTIC_CONTEXT_MODEL", "first"),
        ("ANTHROPIC_MODEL", "second"),
        ("ANTHROPIC_DEFAULT_SONNET_MODEL", "third"),
        ("AGENTIC_CONTEXT_API_KEY", "secret-1"),
        ("ANTHROPIC_AUTH_TOKEN", "secret-2"),
        ("ANTHROPIC_API_KEY", "secret-3"),
        ("AGENTIC_CONTEXT_BASE_URL", "https://one/"),
        ("ANTHROPIC_BASE_URL", "https://two/"),
    ];
    check(&all, "https://one", "first", key("secret-1"));
    let without = |omitted: &[&str]| -> Vec<(&str, &str)> {
        all.into_iter().filter(|(name, _)| !omitted.iter().any(|start| name.starts_with(start))).collect()
    };
    check(&without(&["AGENTIC_CONTEXT"]), "https://two", "second", token("secret-2"));
    check(
        &without(&["AGENTIC_CONTEXT", "ANTHROPIC_MODEL", "ANTHROPIC_AUTH", "ANTHROPIC_BASE"]),
        API,
        "third",
        key("secret-3"),
    );
    // An empty variable counts as unset.
    check(
        &[("AGENTIC_CONTEXT_API_KEY", " "), ("ANTHROPIC_API_KEY", " secret \n")],
        API,
        MODEL,
        key("secret"),
    );
    check(&[("AGENTIC_CONTEXT_MODEL", ""), ("ANTHROPIC_BASE_URL", "")], API, MODEL, None);
}

#[test]
fn detects_cloud_provider() {
    let check = |variables: &[(&str, &str)], expected: Option<&str>| {
        let variable = |name: &str| {
            variables.iter().find(|(variable, _)| *variable == name).map(|(_, value)| (*value).to_owned())
        };
        assert_eq!(JudgeSettings::from_variables(variable).cloud, expected, "{variables:?}");
    };
    let bedrock = ("CLAUDE_CODE_USE_BEDROCK", "1");
    check(&[bedrock, ("ANTHROPIC_BASE_URL", "https://two/")], Some("CLAUDE_CODE_USE_BEDROCK"));
    check(&[bedrock, ("AGENTIC_CONTEXT_BASE_URL", "https://one/")], None);
    check(&[("CLAUDE_CODE_USE_VERTEX", "true")], Some("CLAUDE_CODE_USE_VERTEX"));
    check(&[("CLAUDE_CODE_USE_BEDROCK", "0"), ("CLAUDE_CODE_USE_VERTEX", "")], None);
}
