use super::{About, Reason, Summary};
use crate::transcript::{Answer, AnswerKind, Argument, Call, Provenance, Transcript, What};
use longhaul_core::Fault;

mod properties;
mod snapshots;
mod summaries;

/// A transcript of work.
#[derive(Default)]
struct Told {
    transcript: Transcript,
}

impl Told {
    fn add(mut self, what: What, provenance: Provenance) -> Told {
        self.transcript.push(what, provenance, None);
        self
    }

    fn asked(self, text: &str) -> Told {
        self.add(What::Asked(text.to_owned()), Provenance::Work)
    }

    fn said(self, text: &str) -> Told {
        self.add(What::Said(text.to_owned()), Provenance::Work)
    }

    fn command(self, id: &str, command: &str) -> Told {
        let input = serde_json::json!({ "command": command }).to_string();
        self.called(id, "Bash", &input, Argument::Command(command.to_owned()))
    }

    fn write(self, id: &str, path: &str) -> Told {
        self.called(id, "Write", "{}", Argument::ChangedFile(path.to_owned()))
    }

    fn called(self, id: &str, name: &str, input: &str, argument: Argument) -> Told {
        let call = Call {
            id: id.to_owned(),
            name: name.to_owned(),
            input: input.to_owned(),
            argument: Some(argument),
        };
        self.add(What::Called(call), Provenance::Work)
    }

    fn answered(self, id: &str, kind: AnswerKind, text: &str) -> Told {
        let answer = Answer { call: id.to_owned(), kind, text: text.to_owned() };
        self.add(What::Answered(answer), Provenance::Work)
    }
}

fn about(task: &str) -> About<'_> {
    About::unlimited(task, Reason::Fault(Fault::ContextFull))
}

fn summary(text: &str) -> Summary {
    Summary { model: "haiku".to_owned(), text: text.to_owned() }
}
