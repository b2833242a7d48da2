//! Describes remedies, before and after they are applied.

use longhaul_core::{Nudge, Remedy, Span};

/// Describes a remedy that starts at `until`, a formatted time, after this wait.
pub fn describe_next(remedy: Remedy, until: &str, wait: Span) -> String {
    let when = if wait == Span::ZERO { "now".to_owned() } else { format!("at {until} (in {wait})") };
    match remedy {
        Remedy::WaitOut | Remedy::Park => format!("waiting until {until} (for {wait})"),
        remedy => forms(remedy).0.replace('@', &when),
    }
}

/// Describes a remedy after its wait. If something else ended the wait, only a wait that took time is described.
pub fn describe_applied(remedy: Remedy, waited: Span, is_over: bool) -> Option<String> {
    if is_over {
        return (waited > Span::ZERO).then(|| format!("waited {waited}"));
    }
    let after = if waited == Span::ZERO { "at once".to_owned() } else { format!("after {waited}") };
    Some(forms(remedy).1.replace('@', &after))
}

/// Returns a remedy as it will be and as it was applied. `@` stands for the time.
fn forms(remedy: Remedy) -> (&'static str, &'static str) {
    match remedy {
        Remedy::WaitOut
        | Remedy::Park
        | Remedy::Resume
        | Remedy::ResumeOnce
        | Remedy::ResumeWhileProgressing
        | Remedy::ResumeWithinLimit
        | Remedy::KeepGoing
        | Remedy::ResumeExisting => ("resuming @", "resumed @"),
        Remedy::ReplaceLostSession | Remedy::ReplaceFullSession => {
            ("starting a new session @", "started a new session @")
        }
        Remedy::TryFork => ("trying another session @", "tried another session @"),
        Remedy::Nudge(Nudge::Answer) => ("asking for the answer @", "asked for the answer @"),
        Remedy::Nudge(Nudge::SmallerSteps) => ("asking for smaller steps @", "asked for smaller steps @"),
        Remedy::RetryOnce => ("retrying once @", "retried once @"),
        Remedy::End | Remedy::EndUnlessAllowed => ("giving up", "gave up"),
    }
}
