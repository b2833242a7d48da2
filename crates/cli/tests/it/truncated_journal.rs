//! A truncated journal, as a power cut leaves it: the run continues from the remaining records and finishes.
//! The store's own tests truncate a journal at every byte.

use crate::harness::Stage;
use crate::server::Server;
use crate::sweep::{DONE, STEPS, WORK};
use crate::tidy;
use longhaul_core::OutcomeKind;
use std::fs::{self, File};

// In the middle of the work, after two or three steps.
const FAILPOINT: &str = "both@45";
// Number of lengths to truncate to, spread evenly over the journal and starting at 0.
const CUTS: u64 = 6;

#[test]
fn run_continues_from_a_truncated_journal() {
    for cut in 0..CUTS {
        let (stage, server) = (Stage::new(), Server::start(WORK));
        let args = ["p", "--permission-mode", "bypassPermissions", "--preset", "drill"];
        let run = stage.run(&stage.agent(), &args).against(&server).env("LONGHAUL_FAILPOINT", FAILPOINT);
        assert!(run.start().output_unless_killed().is_none(), "the failpoint kills it");

        let run = stage.only_run();
        let journal = File::options().write(true).open(run.journal_path()).expect("the journal exists");
        let bytes = journal.metadata().expect("the journal has metadata").len();
        // The added bytes tear a line in most cases.
        let retained = bytes * cut / CUTS + cut;
        journal.set_len(retained).expect("the journal can be truncated");
        drop(journal);

        let output = stage.longhaul(["recover"]).against(&server).output();
        let envelope = output.envelope(0);
        let context = format!("{retained} of {bytes} bytes: {envelope}");
        assert_eq!(envelope["result"], DONE, "{context}");
        let steps = fs::read_to_string(stage.work().join("steps")).expect("there are steps");
        assert_eq!(steps, STEPS, "{context}");
        assert_eq!(tidy::replayed_outcome(&run).kind, OutcomeKind::Done, "{context}");
    }
}
