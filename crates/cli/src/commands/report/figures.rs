//! Costs and texts as a report prints them, the same on a page and in text.

use crate::output::words::money;
use longhaul_core::Usd;

/// What was stated and what was estimated, apart.
pub fn cost(stated: Usd, estimated: Usd, unpriced: bool) -> String {
    let more = if unpriced { " or more: some has no price" } else { "" };
    match (stated, estimated) {
        (stated, Usd::ZERO) => format!("{}{more}", money(stated)),
        (Usd::ZERO, estimated) => format!("about {}{more}", money(estimated)),
        (stated, estimated) => format!("{} and about {}{more}", money(stated), money(estimated)),
    }
}

/// Without signs that a terminal would obey, and without those that turn the direction of what follows: a text of a
/// model or of a file shall look like what it is.
pub fn plain(text: &str) -> String {
    text.chars().filter(|sign| !is_unruly(*sign)).collect()
}

/// Whether a sign does something to others than to stand there.
pub fn is_unruly(sign: char) -> bool {
    let turns = matches!(sign, '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    turns || sign.is_control() && sign != '\n' && sign != '\t'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_stated_is_apart() {
        assert_eq!(
            cost(Usd(1_500_000), Usd(20_000), true),
            "$1.50 and about $0.0200 or more: some has no price"
        );
        assert_eq!(cost(Usd::ZERO, Usd(20_000), false), "about $0.0200");
        assert_eq!(plain("a\u{1b}[2Jb\u{202e}c\u{200f}d\ne"), "a[2Jbcd\ne");
    }
}
