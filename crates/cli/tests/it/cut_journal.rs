//! A truncated journal, as a power cut leaves it: the run continues from the remaining records and finishes.
//! The store's own tests cover loading a journal that is cut at any byte.

use crate::harness::Stage;
use crate::server::Server;
use crate::sweep::{DONE, STEPS, WORK};
use crate::tidy;
use longhaul_core::OutcomeKind;
use std::fs::{self, File};

// In the middle of the work, after two or three steps.
const KILLED_AT: &str = "both@45";
// Number of positions, spread evenly over the journal and starting at 0.
const CUTS: u64 = 6;

#[test]
fn run_continues_from_a_truncated_journal() {
    for cut in 0..CUTS {
        let (stage, server) = (Stage::new(), Server::plays(WORK));
        let args = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill"];
        let run = stage.run(&stage.agent(), &args).against(&server).env("LONGHAUL_FAILPOINT", KILLED_AT);
        assert!(run.start().end_or_killed().is_none(), "it was to be killed");

        let run = stage.only_run();
        let journal = File::options().write(true).open(run.journal_path()).expect("the journal is there");
        let bytes = journal.metadata().expect("it can be looked at").len();
        // The added bytes make most of the cuts tear a line.
        let retained = bytes * cut / CUTS + cut;
        journal.set_len(retained).expect("the journal can be cut");
        drop(journal);

        let ended = stage.longhaul(["recover"]).against(&server).end();
        let envelope = ended.envelope(0);
        let context = format!("{retained} of {bytes} bytes: {envelope}");
        assert_eq!(envelope["result"], DONE, "{context}");
        let steps = fs::read_to_string(stage.work().join("steps")).expect("there are steps");
        assert_eq!(steps, STEPS, "{context}");
        assert_eq!(tidy::replayed(&run).kind, OutcomeKind::Done, "{context}");
    }
}
