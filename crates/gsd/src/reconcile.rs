//! Decides between claims of several places, and warns if they contradict each other.

use crate::Warning;
use crate::claim::Claim;
use std::fmt::Display;

/// Returns the first claim. Each later claim with another value becomes a warning.
pub(crate) fn reconcile<T: PartialEq + Display>(
    subject: &str,
    claims: impl IntoIterator<Item = Claim<T>>,
    warnings: &mut Vec<Warning>,
) -> Option<Claim<T>> {
    let mut claims = claims.into_iter();
    let winner = claims.next()?;
    for other in claims.filter(|other| other.value != winner.value) {
        let text = format!("{subject} is {} here, but {} in {}", other.value, winner.value, winner.source);
        let warning = other.source.warning(text);
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
    Some(winner)
}
