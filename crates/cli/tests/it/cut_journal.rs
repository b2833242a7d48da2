//! A journal that lost its end, as a power cut leaves it: the run goes on from what is there, and finishes. (That a journal
//! loads whatever byte it is cut at is the store's own test.)

use crate::harness::Stage;
use crate::server::Server;
use crate::sweep::{DONE, STEPS, WORK};
use crate::tidy;
use longhaul_core::OutcomeKind;
use std::fs::{self, File};

// In the middle of the work, with two steps or three taken.
const KILLED_AT: &str = "both@45";
// Positions, spread over the journal, its beginning among them.
const CUTS: u64 = 6;

#[test]
fn a_run_goes_on_wherever_its_journal_is_cut() {
    for cut in 0..CUTS {
        let (stage, server) = (Stage::new(), Server::plays(WORK));
        let args = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill"];
        let run = stage.run(&stage.agent(), &args).against(&server).env("LONGHAUL_FAILPOINT", KILLED_AT);
        assert!(run.start().end_or_killed().is_none(), "it was to be killed");

        let run = stage.only_run();
        let journal = File::options().write(true).open(run.journal_path()).expect("the journal is there");
        let bytes = journal.metadata().expect("it can be looked at").len();
        // A few bytes beside the even parts: most of the cuts tear a line.
        let kept = bytes * cut / CUTS + cut;
        journal.set_len(kept).expect("the journal can be cut");
        drop(journal);

        let ended = stage.longhaul(["recover"]).against(&server).end();
        let envelope = ended.envelope(0);
        let context = format!("{kept} of {bytes} bytes: {envelope}");
        assert_eq!(envelope["result"], DONE, "{context}");
        let steps = fs::read_to_string(stage.work().join("steps")).expect("there are steps");
        assert_eq!(steps, STEPS, "{context}");
        assert_eq!(tidy::replayed(&run).kind, OutcomeKind::Done, "{context}");
    }
}
