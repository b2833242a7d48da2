//! Formats costs, in the same way on a page and in text.

use crate::output::phrases::money;
use longhaul_core::{Dollars, Usd};

pub fn cost(Dollars(reported): Dollars, Dollars(estimated): Dollars, unpriced: bool) -> String {
    let more = if unpriced { " or more: partly unpriced" } else { "" };
    match (reported, estimated) {
        (reported, Usd::ZERO) => format!("{}{more}", money(reported)),
        (Usd::ZERO, estimated) => format!("about {}{more}", money(estimated)),
        (reported, estimated) => format!("{} and about {}{more}", money(reported), money(estimated)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separates_reported_from_estimated_cost() {
        assert_eq!(
            cost(Dollars(Usd(1_500_000)), Dollars(Usd(20_000)), true),
            "$1.50 and about $0.0200 or more: partly unpriced"
        );
        assert_eq!(cost(Dollars::default(), Dollars(Usd(20_000)), false), "about $0.0200");
    }
}
