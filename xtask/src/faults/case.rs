//! The scenarios, read from `cases.toml` and `work.toml` when the command starts. This module never runs
//! them.

use longhaul_drill::Scenario;
use serde::Deserialize;
use serde_json::json;
use std::io;
use toml::{Table, Value};

const CASES: &str = include_str!("cases.toml");
const WORK: &str = include_str!("work.toml");
const BACKGROUND_REPLIES: &str = include_str!("background.toml");

/// One scenario: its faults and their effect on the figures. `cases.toml` explains the fields.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub name: String,
    pub description: String,
    #[serde(default = "default_auth")]
    pub auth: String,
    #[serde(default)]
    pub victim: Victim,
    #[serde(default)]
    pub killed: bool,
    #[serde(default)]
    pub unrecoverable: bool,
    #[serde(default)]
    pub slow: bool,
    #[serde(default)]
    pub claude_only: bool,
    pub idle_s: Option<u32>,
    pub calls: Option<u32>,
    pub claim: Option<Claim>,
    /// Command that the agent starts before its last message and does not wait for.
    background: Option<String>,
    /// Background wait of a run with keep-going, in which the command is part of the work.
    pub background_wait_s: Option<u32>,
    /// Whether this is the work without faults.
    #[serde(skip)]
    is_ideal: bool,
    #[serde(default, rename = "fault")]
    faults: Vec<Table>,
}

/// An early done claim, and the check that detects it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Number of turns before the claim.
    after: usize,
    pub check: String,
    /// Text in its output to which the model replies with the other turns.
    expect_output: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Victim {
    #[default]
    Agent,
    Longhaul,
    All,
}

#[derive(Deserialize)]
struct Cases {
    case: Vec<Case>,
}

fn default_auth() -> String {
    "key".to_owned()
}

pub fn all() -> io::Result<Vec<Case>> {
    toml::from_str::<Cases>(CASES).map(|cases| cases.case).map_err(io::Error::other)
}

impl Case {
    /// Returns the same work without faults, for the ideal figures. Cases with the same work share it by
    /// name.
    pub fn ideal(&self) -> Case {
        let auth = if self.auth == "oauth" { "OAuth" } else { "API key" };
        let (work, background) = match (&self.background, self.background_wait_s) {
            (None, _) => ("", None),
            (Some(_), None) => (", one more turn", Some("true")),
            (Some(_), Some(_)) => (", background work", Some("sleep 1; echo late >> effects.log")),
        };
        Case {
            name: format!("ideal, {auth}{work}"),
            description: "no fault".to_owned(),
            background: background.map(str::to_owned),
            background_wait_s: self.background_wait_s,
            is_ideal: true,
            auth: self.auth.clone(),
            ..Case::default()
        }
    }

    pub fn scenario(&self) -> io::Result<Scenario> {
        let mut table: Table = WORK.parse().map_err(io::Error::other)?;
        for (name, value) in [("name", &self.name), ("summary", &self.description), ("auth", &self.auth)] {
            table.insert(name.to_owned(), Value::String(value.clone()));
        }
        let faults = self.faults.iter().cloned().map(Value::Table).collect();
        table.insert("fault".to_owned(), Value::Array(faults));
        if let Some(command) = &self.background
            && let Some(Value::Array(turns)) = table.get_mut("turn")
        {
            let in_background = !self.is_ideal || self.background_wait_s.is_some();
            turns.insert(turns.len() - 1, watcher(command, in_background)?);
        }
        if self.background_wait_s.is_some() {
            add_background_work(&mut table)?;
        }
        if let Some(claim) = &self.claim {
            claim.add_to(&mut table)?;
        }
        Scenario::parse(&self.name, &table.to_string()).map_err(io::Error::other)
    }
}

impl Claim {
    /// Splits the turns: the later ones become the reply to the check.
    fn add_to(&self, table: &mut Table) -> io::Result<()> {
        let Some(Value::Array(turns)) = table.get_mut("turn") else { return Ok(()) };
        let later_turns = turns.split_off(self.after.min(turns.len()));
        let claim = "All of it is done: the names, the script and the greetings are there.";
        turns.push(toml_value(json!({"text": claim}))?);
        let replies = json!([{"to": self.expect_output, "turn": later_turns}]);
        table.insert("reply".to_owned(), toml_value(replies)?);
        Ok(())
    }
}

fn toml_value(json: serde_json::Value) -> io::Result<Value> {
    Value::try_from(json).map_err(io::Error::other)
}

/// Adds the effect of the background command, and the replies of a model that waits for it and then finishes.
fn add_background_work(table: &mut Table) -> io::Result<()> {
    if let Some(Value::Array(effects)) = table.get_mut("workspace").and_then(|work| work.get_mut("effects")) {
        effects.push("late".into());
    }
    let replies: Table = BACKGROUND_REPLIES.parse().map_err(io::Error::other)?;
    table.extend(replies);
    Ok(())
}

/// Returns a turn that starts `command`, in the background or not.
fn watcher(command: &str, in_background: bool) -> io::Result<Value> {
    toml_value(json!({
        "text": "I start the watcher, which reports later if it finds a change in one of the files.",
        "tools": [{"bash": {"command": command, "run_in_background": in_background}}],
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn cases_are_valid_and_have_unique_names() {
        let cases = all().expect("the cases are TOML of this form");
        let names: BTreeSet<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        assert_eq!(names.len(), cases.len());
        for case in &cases {
            let scenario = case.scenario().expect("the case can be played");
            assert!(
                case.background.is_some() || case.claim.is_some() || !case.faults.is_empty(),
                "{}: no fault",
                case.name
            );
            let ideal = case.ideal().scenario().expect("its ideal can be played");
            assert!(ideal.faults.is_empty() && ideal.auth == scenario.auth);
            let replies =
                |scenario: &Scenario| scenario.replies.iter().map(|reply| reply.turns.len()).sum::<usize>();
            let replies = replies(&scenario) - replies(&ideal);
            let claims = usize::from(case.claim.is_some());
            assert_eq!(ideal.turns.len(), scenario.turns.len() + replies - claims);
            assert_eq!(case.ideal().ideal().name, case.ideal().name);
        }
    }
}
