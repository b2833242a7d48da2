use super::Ceilings;
use crate::args::{CeilingArgs, ModeCeiling};
use crate::commands::mcp::served::served;
use longhaul_core::Usd;
use serde_json::{Value, json};
use std::path::Path;

fn ceilings(mode: ModeCeiling, dollars: Option<u64>, dir: &Path) -> Ceilings {
    let args = CeilingArgs {
        allow_dir: vec![dir.to_owned()],
        max_permission_mode: mode,
        max_budget: dollars.map(|dollars| Usd(dollars * 1_000_000)),
    };
    Ceilings::new(&args).unwrap_or_else(|failure| panic!("{}", failure.error))
}

/// Returns the arguments that a call to `run` has in the end, or the error.
fn apply(ceilings: &Ceilings, dir: &Path, mut arguments: Value) -> Result<Value, String> {
    let tools = served(ceilings);
    let run = tools.iter().find(|tool| tool.name == "run").expect("there is such a tool");
    arguments["cwd"] = dir.to_string_lossy().into();
    let arguments = arguments.as_object_mut().expect("arguments are an object");
    ceilings.apply(run, arguments).map_err(|failure| failure.error)?;
    arguments.remove("cwd");
    Ok(Value::Object(arguments.clone()))
}

#[test]
fn a_run_has_at_most_the_permission_mode_of_the_ceiling() {
    let dir = tempfile::tempdir().expect("there is a temporary folder");
    let apply = |mode, arguments| apply(&ceilings(mode, None, dir.path()), dir.path(), arguments);
    let mode = |mode: &str| json!({ "permission_mode": mode });
    assert_eq!(apply(ModeCeiling::AcceptEdits, json!({})), Ok(mode("acceptEdits")));
    assert_eq!(apply(ModeCeiling::AcceptEdits, mode("plan")), Ok(mode("plan")));
    assert_eq!(apply(ModeCeiling::AcceptEdits, mode("default")), Ok(mode("default")));
    assert_eq!(
        apply(ModeCeiling::BypassPermissions, mode("a-mode-of-the-future")),
        Ok(mode("a-mode-of-the-future"))
    );
    assert_eq!(
        apply(ModeCeiling::AcceptEdits, mode("acceptedits")),
        Err("permission_mode: this server does not know `acceptedits`".to_owned())
    );
    for higher in ["auto", "bypassPermissions"] {
        let error = format!("permission_mode: `{higher}` is above the ceiling of this server, `acceptEdits`");
        assert_eq!(apply(ModeCeiling::AcceptEdits, mode(higher)), Err(error));
    }
}

#[test]
fn a_run_has_at_most_the_budget_of_the_ceiling() {
    let dir = tempfile::tempdir().expect("there is a temporary folder");
    let apply = |dollars, mut arguments: Value| {
        arguments["permission_mode"] = "plan".into();
        let mut applied = apply(&ceilings(ModeCeiling::Plan, dollars, dir.path()), dir.path(), arguments)?;
        applied.as_object_mut().map(|applied| applied.remove("permission_mode"));
        Ok(applied)
    };
    let budget = |budget: Value| json!({ "budget": budget });
    assert_eq!(apply(None, json!({})), Ok(json!({})));
    assert_eq!(apply(None, budget("none".into())), Ok(budget("none".into())));
    assert_eq!(apply(Some(5), json!({})), Ok(budget(5.0.into())));
    assert_eq!(apply(Some(5), budget(4.into())), Ok(budget(4.into())));
    assert_eq!(apply(Some(5), budget("$5".into())), Ok(budget("$5".into())));
    for higher in [json!(5.01), json!("6"), json!("none")] {
        assert_eq!(
            apply(Some(5), budget(higher)),
            Err("budget: the ceiling of this server is $5.00".to_owned())
        );
    }
    for dollars in [None, Some(5)] {
        assert_eq!(apply(dollars, budget(json!(0))), Err("budget: 0 allows no request".to_owned()));
    }
}

#[test]
fn a_run_works_below_an_allowed_directory() {
    let root = tempfile::tempdir().expect("there is a temporary folder");
    let root = root.path().canonicalize().expect("it exists");
    let (inside, outside) = (root.join("project"), root.join("project-2"));
    for dir in [inside.join("crates"), outside.clone()] {
        std::fs::create_dir_all(dir).expect("the folder is writable");
    }
    std::os::unix::fs::symlink(&outside, inside.join("link")).expect("the folder is writable");
    let ceilings = ceilings(ModeCeiling::Plan, None, &inside);
    let apply = |dir: &Path| apply(&ceilings, dir, json!({ "permission_mode": "plan" }));
    assert!(apply(&inside.join("crates")).is_ok());
    for dir in [&outside, &inside.join(".."), &inside.join("link"), &root] {
        let error = apply(dir).expect_err("it is outside");
        assert!(error.ends_with(&format!("is outside of {}", inside.display())), "{error}");
    }
    let error = apply(&inside.join("missing")).expect_err("it is missing");
    assert!(error.starts_with("cannot use the directory"), "{error}");
}

#[test]
fn an_empty_list_of_directories_means_the_allowed_ones() {
    let dir = tempfile::tempdir().expect("there is a temporary folder");
    let ceilings = ceilings(ModeCeiling::Plan, None, dir.path());
    let tools = served(&ceilings);
    let status = tools.iter().find(|tool| tool.name == "status").expect("there is such a tool");
    for arguments in [json!({}), json!({ "project": [] })] {
        let mut arguments = arguments.as_object().cloned().expect("arguments are an object");
        ceilings.apply(status, &mut arguments).expect("it is allowed");
        assert_eq!(arguments["project"], json!([dir.path().canonicalize().expect("it exists")]));
    }
}
