use super::{json_change, toml_change, toml_text};
use serde_json::{Value, json};
use std::fs;

fn server(word: &str) -> Value {
    json!({ "command": "/usr/bin/longhaul", "args": ["mcp", word] })
}

#[test]
fn keeps_everything_else_in_a_json_file() {
    let dir = tempfile::tempdir().expect("there is a temporary folder");
    let file = dir.path().join("mcp.json");
    let changed =
        json_change(&file, "mcpServers", &server("a")).unwrap_or_else(|error| panic!("{}", error.error));
    let (before, after) = changed.expect("there is no file");
    assert_eq!(before, None);
    let parsed: Value = serde_json::from_str(&after).expect("it is JSON");
    assert_eq!(parsed, json!({ "mcpServers": { "longhaul": server("a") } }));

    let text = "{\n  // of the team\n  \"mcpServers\": {\n    \"other\": { \"command\": \"x\" }, // keep\n  },\n  \"z\": 1\n}\n";
    fs::write(&file, text).expect("the folder is writable");
    let change = |word| {
        json_change(&file, "mcpServers", &server(word)).unwrap_or_else(|error| panic!("{}", error.error))
    };
    let (_, after) = change("a").expect("it changes");
    for kept in ["// of the team", "\"other\": { \"command\": \"x\" }", "// keep", "\"z\": 1"] {
        assert!(after.contains(kept), "{after}");
    }
    fs::write(&file, &after).expect("the folder is writable");
    assert_eq!(change("a"), None);
    let (_, replaced) = change("b").expect("it changes");
    assert_eq!(replaced, after.replace("\"a\"", "\"b\""));

    for (text, error) in
        [("[1]", "it is no object"), ("{\"mcpServers\": 1}", "`mcpServers` is no object"), ("{", "")]
    {
        fs::write(&file, text).expect("the folder is writable");
        let failure = json_change(&file, "mcpServers", &server("a")).expect_err("it cannot be changed");
        assert!(failure.error.contains(error), "{}", failure.error);
        assert_eq!(fs::read_to_string(&file).expect("it is there"), text);
    }
}

#[test]
fn keeps_everything_else_in_a_toml_file() {
    let dir = tempfile::tempdir().expect("there is a temporary folder");
    let file = dir.path().join("config.toml");
    let entry = |word| toml_text(&server(word)).unwrap_or_else(|error| panic!("{}", error.error));
    let change = |word| toml_change(&file, &entry(word));
    let text = "model = \"x\" # mine\n\n[mcp_servers.other]\ncommand = \"y\"\n";
    fs::write(&file, text).expect("the folder is writable");
    let changed = change("a").unwrap_or_else(|error| panic!("{}", error.error));
    let (_, after) = changed.expect("it changes");
    assert_eq!(after, format!("{text}\n{}", entry("a")));
    let parsed: toml::Table = toml::from_str(&after).expect("it is TOML");
    assert_eq!(parsed["mcp_servers"]["longhaul"]["args"][1].as_str(), Some("a"));
    fs::write(&file, &after).expect("the folder is writable");
    assert!(change("a").is_ok_and(|changed| changed.is_none()));
    assert!(change("b").is_err_and(|failure| failure.error.ends_with("has another entry for longhaul")));
    // A table cannot be added to these.
    for servers in ["mcp_servers = { other = { command = \"x\" } }\n", "mcp_servers = 1\n"] {
        fs::write(&file, servers).expect("the folder is writable");
        let failure = change("a").expect_err("the result is no TOML");
        assert!(failure.error.starts_with("cannot add a server to `mcp_servers`"), "{}", failure.error);
    }
    fs::write(&file, "[").expect("the folder is writable");
    assert!(change("a").is_err_and(|failure| failure.error.starts_with("cannot read")));
}
