//! Describes remedies, before and after they are applied.

use super::time;
use longhaul_core::{Moment, Nudge, Remedy, Span};

/// Describes a remedy decided at `at`, which starts at `until` at the earliest.
pub fn describe_remedy(remedy: Remedy, at: Moment, until: Moment) -> String {
    describe_next(remedy, &time::future_time(until), until.since(at))
}

/// Describes a remedy that starts at `until`, a formatted time, after this wait.
pub fn describe_next(remedy: Remedy, until: &str, wait: Span) -> String {
    let when = if wait == Span::ZERO { "now".to_owned() } else { format!("at {until} (in {wait})") };
    match remedy {
        Remedy::WaitOut | Remedy::Park => format!("waiting until {until} (for {wait})"),
        Remedy::Resume
        | Remedy::ResumeOnce
        | Remedy::ResumeWhileProgressing
        | Remedy::ResumeWithinLimit
        | Remedy::KeepGoing
        | Remedy::ResumeExisting => format!("resuming {when}"),
        Remedy::ReplaceLostSession | Remedy::ReplaceFullSession => format!("starting a new session {when}"),
        Remedy::TryFork => format!("trying another session {when}"),
        Remedy::Nudge(Nudge::Answer) => format!("asking for the answer {when}"),
        Remedy::Nudge(Nudge::SmallerSteps) => format!("asking for smaller steps {when}"),
        Remedy::RetryOnce => format!("retrying once {when}"),
        Remedy::End | Remedy::EndUnlessAllowed => "giving up".to_owned(),
    }
}

/// Describes an applied remedy, after a wait.
pub fn describe_applied(remedy: Remedy, waited: Span) -> String {
    let after = if waited == Span::ZERO { "at once".to_owned() } else { format!("after {waited}") };
    match remedy {
        Remedy::WaitOut
        | Remedy::Park
        | Remedy::Resume
        | Remedy::ResumeOnce
        | Remedy::ResumeWhileProgressing
        | Remedy::ResumeWithinLimit
        | Remedy::KeepGoing
        | Remedy::ResumeExisting => format!("resumed {after}"),
        Remedy::ReplaceLostSession | Remedy::ReplaceFullSession => format!("started a new session {after}"),
        Remedy::TryFork => format!("tried another session {after}"),
        Remedy::Nudge(Nudge::Answer) => format!("asked for the answer {after}"),
        Remedy::Nudge(Nudge::SmallerSteps) => format!("asked for smaller steps {after}"),
        Remedy::RetryOnce => format!("retried once {after}"),
        Remedy::End | Remedy::EndUnlessAllowed => "gave up".to_owned(),
    }
}
