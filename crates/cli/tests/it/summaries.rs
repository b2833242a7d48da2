//! Older work in a model's words, for a new session that is told the record; and without them, whatever the model
//! does. Each story is told with each agent that there is.

use crate::call::{Ended, Started, until};
use crate::harness::{Stage, claude_code};
use crate::recovering::{recover, steps};
use crate::server::Server;
use crate::tidy;
use longhaul_drill::api::RequestKind;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// So many steps, each of which says a lot. Before the answer the conversation no longer fits the model.
const STEPS: u32 = 9;

const SUMMARY: &str = "- The first steps printed the numbers from 100 on.";
const MODEL: &str = "claude-haiku-4-5";
const SEED_TOKENS: &str = "900";
const TITLE: &str = "Earlier work, as the model `claude-haiku-4-5` summarised it";

/// The work, with requests without tools answered like this.
fn work(side: &str) -> Server {
    let step = |step: u32| {
        format!(
            "[[turn]]\ntext = \"I take step {step}.\"\n[[turn.tools]]\n\
             bash = {{ command = \"grep -qs ^{step} steps || echo {step} >> steps; seq {step}00 {step}99\" }}\n"
        )
    };
    let steps: String = (1..=STEPS).map(step).collect();
    Server::plays(&format!(
        "name = \"long\"\nsummary = \"many steps, and a conversation that no longer fits\"\nprompt = \"p\"\n\
         [env]\nDISABLE_COMPACT = \"1\"\n[expect]\noutcome = \"done\"\nexit = 0\n{steps}[[turn]]\ntext = \"All steps are taken.\"\n\
         [[fault]]\nturn = {full}\n\
         status = {{ code = 400, message = \"prompt is too long: 1200000 tokens > 1000000 maximum\" }}\n\
         [side]\ntext = \"{SUMMARY}\"\n{side}\n",
        full = STEPS + 1
    ))
}

fn with_each_agent(story: &str, side: &str, tell: fn(&Stage, &Path, &Server)) {
    let stage = Stage::new();
    tell(&stage, &stage.agent(), &work(side));
    if let Some(claude) = claude_code(story) {
        tell(&Stage::new(), &claude, &work(side));
    }
}

const ARGS: [&str; 10] = [
    "p",
    "--permission-mode",
    "bypassPermissions",
    "--preset",
    "drill",
    "--verbose",
    "--handoff-tokens",
    SEED_TOKENS,
    "--handoff-summary",
    MODEL,
];

/// Whether some session was told this.
fn told(stage: &Stage, words: &str) -> bool {
    let sessions = tidy::everything(&stage.user_home().join(".claude/projects"));
    let mut texts =
        sessions.iter().filter(|path| path.is_file()).filter_map(|path| fs::read_to_string(path).ok());
    texts.any(|text| text.contains(words))
}

/// What `show` says of the summary of the second attempt.
fn shown(stage: &Stage) -> Value {
    let shown = stage.longhaul(["show", "@"]).end();
    let shown: Value = serde_json::from_str(&shown.stdout).expect("a run is shown");
    shown["attempts"][1]["summary"].clone()
}

/// The run is done, every step taken once, and what the API's account says is in the envelope; of the cost, so much
/// may be estimated otherwise.
fn done(stage: &Stage, ended: &Ended, server: &Server, share: f64) {
    let envelope = ended.envelope(0);
    assert_eq!(envelope["result"], "All steps are taken.", "{envelope}");
    let taken: String = (1..=STEPS).map(|step| format!("{step}\n")).collect();
    assert_eq!(steps(stage), taken);
    let account = server.api.account().cost().dollars();
    let cost = envelope["usage"]["total_cost_usd"].as_f64().expect("a cost");
    // Each of the three processes rounds to a millionth.
    assert!((cost - account).abs() < 3e-6 + account * share, "{cost}, not {account}");
    tidy::check(stage);
}

/// How often a model was asked for a summary.
fn asked(server: &Server) -> usize {
    server.api.account().requests.iter().filter(|request| request.kind == RequestKind::Side).count()
}

/// A run whose model was asked for a summary, and has not answered.
fn in_mid_summary(stage: &Stage, agent: &Path, server: &Server) -> Started {
    let run = stage.run(agent, &ARGS).against(server).start();
    until("a summary is asked for", || asked(server) == 1);
    run
}

#[test]
fn older_work_is_told_in_the_words_of_a_model() {
    with_each_agent("summarising", "", |stage, agent, server| {
        let hook = stage.folder().join("hooked").display().to_string();
        let settings = json!({ "hooks": { "UserPromptSubmit": [{ "hooks": [
            { "type": "command", "command": format!("echo prompted >> {hook}") }
        ] }] } });
        fs::create_dir(stage.user_home().join(".claude")).expect("the stage can be written");
        fs::write(stage.user_home().join(".claude/settings.json"), settings.to_string()).expect("likewise");
        let ended = stage.run(agent, &ARGS).against(server).end();
        done(stage, &ended, server, 0.0);
        assert!(told(stage, TITLE) && told(stage, SUMMARY));
        let (account, shown) = (server.api.account(), shown(stage));
        assert_eq!((account.side.len(), account.side[0].model.as_str()), (1, MODEL));
        assert_eq!(shown["outcome"], "written");
        let cost = account.side[0].cost().expect("a known price").dollars();
        assert!(
            (shown["total_cost_usd"].as_f64().expect("a cost") - cost).abs() < 1e-6,
            "{shown}, not {cost}"
        );
        let text = stage.longhaul(["show", "@", "--output-format", "text"]).end();
        assert!(text.stdout.contains("older work was summarized"), "{text:?}");

        // The user's hooks ran for the two attempts at the most: the scripted agent has none.
        let hooked = fs::read_to_string(&hook).unwrap_or_default();
        assert!(matches!(hooked.lines().count(), 0 | 2), "{hooked}");
        // It has no session, and what it said is in the run's directory; nothing of the prompt is in its arguments.
        let sessions = tidy::everything(&stage.user_home().join(".claude/projects"));
        let is_session = |path: &&PathBuf| path.extension().is_some_and(|end| end == "jsonl");
        assert_eq!(sessions.iter().filter(is_session).count(), 2, "{sessions:?}");
        let summary = stage.only_run().attempt(2).summary();
        assert!(fs::read_to_string(summary.stream_path()).is_ok_and(|said| said.contains(SUMMARY)));
        let argv = fs::read_to_string(summary.argv_path()).expect("its arguments");
        assert!(argv.contains(MODEL) && !argv.contains("take step"), "{argv}");
    });
}

#[test]
fn where_the_model_fails_the_record_is_told_as_it_is() {
    with_each_agent("failing to summarise", "fault = { status = { code = 400 } }", |stage, agent, server| {
        let ended = stage.run(agent, &ARGS).against(server).end();
        done(stage, &ended, server, 0.0);
        assert!(ended.stderr.contains("no summary of older work: the API rejected the request"), "{ended:?}");
        assert!(!told(stage, "summarised it") && told(stage, "Earlier work, one line per step"));
        assert_eq!(shown(stage)["outcome"], json!({ "failed": "bad_request" }));
        assert!(server.api.account().side.is_empty());
    });
}

#[test]
fn a_model_that_hangs_is_ended_in_time() {
    let hangs = "fault = { silence = { after = \"mid-text\" } }";
    with_each_agent("hanging in a summary", hangs, |stage, agent, server| {
        let ended = stage.run(agent, &ARGS).against(server).end();
        // Of what it had said before, nobody stated the cost.
        done(stage, &ended, server, 0.02);
        assert!(ended.stderr.contains("no summary of older work: it took too long"), "{ended:?}");
        assert!(!told(stage, "summarised it") && told(stage, "Earlier work, one line per step"));
        assert_eq!((asked(server), server.api.account().side.len()), (1, 1));
        let estimated = ended.envelope(0)["usage"]["estimated_cost_usd"].as_f64();
        assert!(estimated.is_some_and(|estimated| estimated > 0.0), "{ended:?}");
    });
}

#[test]
fn a_cancel_ends_a_summary_at_once() {
    with_each_agent("cancelling a summary", "fault = { silence = {} }", |stage, agent, server| {
        let run = in_mid_summary(stage, agent, server);
        assert_eq!(
            stage.only_run().status().expect("a status").deadline.as_deref(),
            Some("summary_timeout")
        );
        run.signal(Signal::INT);
        let ended = run.end();
        ended.envelope(130);
        assert_eq!(shown(stage)["outcome"], json!({ "failed": "interrupted" }));
        tidy::check(stage);
        // Somebody lets it go on: the model is asked anew, and has its time.
        let resumed = stage.longhaul(["resume", "@"]).against(server).end();
        resumed.envelope(0);
        assert_eq!(asked(server), 2);
    });
}

#[test]
fn a_supervisor_that_dies_meanwhile_is_replaced_by_one_that_asks_nobody_again() {
    let hangs = "fault = { silence = { after = \"mid-text\" } }";
    with_each_agent("losing the supervisor of a summary", hangs, |stage, agent, server| {
        let run = in_mid_summary(stage, agent, server);
        until("it has begun to answer", || server.api.account().side.len() == 1);
        run.kill();
        let ended = recover(stage, server, &["@"]).end();
        done(stage, &ended, server, 0.02);
        assert_eq!((asked(server), shown(stage)["outcome"].clone()), (1, json!({ "failed": "crashed" })));
        assert!(!told(stage, "summarised it") && told(stage, "Earlier work, one line per step"));
    });
}

#[test]
fn what_a_model_wrote_while_nobody_watched_is_told() {
    with_each_agent("summarising alone", "fault = { hold = { for_s = 0.5 } }", |stage, agent, server| {
        in_mid_summary(stage, agent, server).kill();
        until("it is gone", || tidy::processes(stage.folder()).is_empty());
        let ended = recover(stage, server, &["@"]).end();
        done(stage, &ended, server, 0.0);
        assert_eq!((asked(server), shown(stage)["outcome"].clone()), (1, json!("written")));
        assert!(told(stage, TITLE) && told(stage, SUMMARY));
    });
}

#[test]
fn a_record_that_is_short_needs_no_model() {
    let (stage, server) = (Stage::new(), work(""));
    let whole: Vec<&str> = ARGS.iter().map(|arg| if *arg == SEED_TOKENS { "12000" } else { arg }).collect();
    done(&stage, &stage.run(&stage.agent(), &whole).against(&server).end(), &server, 0.0);
    assert_eq!((asked(&server), shown(&stage)["outcome"].clone()), (0, json!("not_needed")));
}

/// Every file of the run with its content.
fn files(stage: &Stage) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = tidy::everything(stage.only_run().path());
    files.into_iter().filter_map(|path| Some((path.clone(), fs::read(path).ok()?))).collect()
}

fn seed(stage: &Stage, agent: &Path, server: &Server, args: &[&str]) -> Started {
    let call =
        stage.longhaul(["seed", "--handoff-tokens", SEED_TOKENS, "--handoff-summary", MODEL, "--agent-path"]);
    call.args([agent]).args(args).against(server).start()
}

/// The seed of this work with a summary, and without.
fn seeds(stage: &Stage, agent: &Path, server: &Server) {
    let run = stage.run(agent, &ARGS).against(server).end();
    run.envelope(0);
    let before = files(stage);
    let stream = stage.only_run().attempt(1).stream_path().display().to_string();
    for source in [&["@"][..], &["--from-transcript", &stream]] {
        let plain = stage.longhaul(["seed", "--handoff-tokens", SEED_TOKENS]).args(source).end();
        let told = seed(stage, agent, server, source).end();
        assert_eq!((told.code, told.stderr.as_str()), (0, ""), "{told:?}");
        assert!(told.stdout.contains(TITLE) && told.stdout.contains(SUMMARY), "{told:?}");
        let broken = work("fault = { status = { code = 400 } }");
        let missing = stage.folder().join("no-agent");
        for (agent, server, why) in
            [(agent, &broken, "rejected the request"), (&missing, server, "no such file")]
        {
            let told = seed(stage, agent, server, source).end();
            assert_eq!((told.code, &told.stdout), (0, &plain.stdout), "{told:?}");
            assert!(told.stderr.lines().count() == 1 && told.stderr.contains(why), "{told:?}");
        }
        let hanging = work("fault = { silence = {} }");
        let call = seed(stage, agent, &hanging, source);
        until("a summary is asked for", || asked(&hanging) == 1);
        call.signal(Signal::INT);
        let ended = call.end();
        assert_eq!((ended.code, ended.stdout.as_str()), (130, ""), "{ended:?}");
        assert!(ended.duration < Duration::from_secs(30), "{ended:?}");
    }
    assert_eq!(files(stage), before, "the run was changed");
    tidy::check(stage);
    let left = fs::read_dir(stage.folder()).expect("the stage can be read").flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name().display().to_string()).collect();
    assert!(!left.iter().any(|name| name.starts_with("longhaul-seed-")), "{left:?}");
}

#[test]
fn a_seed_is_printed_with_a_summary_and_without() {
    with_each_agent("summarising for a seed", "", seeds);
}

#[test]
fn the_model_is_named_and_that_is_told_before_a_run() {
    let stage = Stage::new();
    let agent = stage.agent();
    for none in ["", "  "] {
        let run = stage.run(&agent, &["p", "--handoff-summary", none]).end();
        let seed = stage.longhaul(["seed", "@", "--handoff-summary", none]).end();
        for ended in [run, seed] {
            assert_eq!((ended.code, ended.stdout.as_str()), (2, ""), "{ended:?}");
            assert!(ended.stderr.contains("expected the name of a model"), "{ended:?}");
        }
    }
    let dry = stage.run(&agent, &["p", "--handoff-summary", MODEL, "--dry-run"]).end();
    let dry: Value = serde_json::from_str(&dry.stdout).expect("JSON");
    assert_eq!(dry["handoff_summary"]["model"], MODEL);
    assert_eq!(dry["handoff_summary"]["timeout_ms"], 60_000);
    assert!(
        dry["handoff_summary"]["command"]
            .as_str()
            .is_some_and(|words| words.contains("--no-session-persistence"))
    );
    let text =
        stage.run(&agent, &["p", "--handoff-summary", MODEL, "--dry-run", "--output-format", "text"]).end();
    assert!(text.stdout.contains("within 1m") && text.stdout.contains(MODEL), "{text:?}");
    assert!(!stage.home().exists());
}
