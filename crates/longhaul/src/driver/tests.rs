use super::{World, drive};
use expect_test::{Expect, expect};
use longhaul_core::{
    Action, AgentResult, Event, Evidence, Exit, Moment, Notice, Now, Outcome, Preset, ProcessId, Record, Run,
    SessionId, SessionPlan,
};
use std::collections::VecDeque;

/// A world that logs its actions, and fails after a number of appends.
struct LogWorld {
    events: VecDeque<Event>,
    log: Vec<String>,
    appends_remaining: u32,
}

impl World for LogWorld {
    type Error = String;

    fn now(&mut self) -> Now {
        Now { at: Moment(1_000), roll: 7 }
    }

    fn append(&mut self, _at: Moment, records: &[Record]) -> Result<(), String> {
        self.appends_remaining = self.appends_remaining.checked_sub(1).ok_or("the disk is full")?;
        self.log.push(format!("append {}", records.len()));
        Ok(())
    }

    async fn perform(&mut self, action: Action) -> Result<(), String> {
        let text = format!("{action:?}");
        let end = text.find(['(', ' ', '{']).unwrap_or(text.len());
        self.log.push(format!("perform {}", &text[..end]));
        Ok(())
    }

    async fn next(&mut self, _until: Option<Moment>) -> Result<Event, String> {
        self.events.pop_front().ok_or_else(|| "there are no more events".to_owned())
    }
}

fn check(appends: u32, expected: Result<Outcome, String>, log: Expect) {
    let done = Evidence { result: Some(AgentResult::COMPLETED), ..Evidence::from_exit(Exit::Code(0)) };
    let events = VecDeque::from([
        Event::Spawned(ProcessId { pid: 1, start_ticks: 1 }),
        Event::Noticed(Notice::SessionOpened(SessionId::from("s"))),
        Event::Noticed(Notice::Activity),
        Event::Noticed(Notice::ExchangeEnded(AgentResult::COMPLETED)),
        Event::Noticed(Notice::Idle),
        Event::Exited(done),
        Event::Swept(0),
    ]);
    let mut world = LogWorld { events, log: Vec::new(), appends_remaining: appends };
    let first = Event::Started(SessionPlan::New(SessionId::from("s")));
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime without drivers");
    let policy = Preset::Default.policy();
    assert_eq!(runtime.block_on(drive(&mut Run::new(), &policy, &mut world, first)), expected);
    log.assert_eq(&world.log.join("\n"));
}

#[test]
fn appends_before_it_acts() {
    check(
        u32::MAX,
        Ok(Outcome::DONE),
        expect![[r#"
            append 2
            perform Spawn
            append 1
            append 1
            append 1
            append 1
            perform CloseInput
            append 1
            perform Sweep
            append 2
            perform Finish"#]],
    );
}

#[test]
fn does_not_act_if_the_append_fails() {
    check(0, Err("the disk is full".to_owned()), expect![[""]]);
    check(
        4,
        Err("the disk is full".to_owned()),
        expect![[r#"
            append 2
            perform Spawn
            append 1
            append 1
            append 1"#]],
    );
}
