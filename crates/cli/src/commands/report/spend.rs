//! Groups spending by time.
//!
//! The ledger counts by quarters of an hour. This module sums them into a limited number of bars with a
//! natural length. Pure: the time zone is an argument.

use jiff::tz::TimeZone;
use jiff::{RoundMode, Span, Timestamp, Unit, Zoned, ZonedRound};
use longhaul_core::{Dollars, Moment, Rfc3339, Usd};
use longhaul_store::{LedgerSpend, QUARTER_MS};
use serde::Serialize;

// On a phone each bar then has a few pixels.
const BARS_MAX: usize = 48;
/// Possible lengths of a bar: minutes, hours, days.
const STEPS: &[(Unit, i64)] = &[
    (Unit::Minute, 15),
    (Unit::Minute, 30),
    (Unit::Hour, 1),
    (Unit::Hour, 2),
    (Unit::Hour, 3),
    (Unit::Hour, 6),
    (Unit::Hour, 12),
    (Unit::Day, 1),
    (Unit::Day, 7),
    (Unit::Day, 30),
    (Unit::Day, 365),
];

/// Spending in one period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Bucket {
    /// Start of the period.
    pub from: Rfc3339,
    /// End of the period.
    pub to: Rfc3339,
    /// Cost reported by vendors.
    #[serde(rename = "reported_cost_usd")]
    pub cost: Dollars,
    /// Cost estimated by Longhaul, in addition to the reported cost.
    #[serde(rename = "estimated_cost_usd")]
    pub estimated_cost: Dollars,
}

/// Sums spending into bars without gaps. Returns no bars if nothing was spent. With `since`, the bars cover
/// all the time from then on.
pub fn over_time(
    spent: &[(u64, &String, LedgerSpend)],
    since: Option<Moment>,
    now: Moment,
    zone: &TimeZone,
) -> Vec<Bucket> {
    let moment_of = |quarter: u64| Moment(quarter.saturating_mul(QUARTER_MS));
    let moments = || spent.iter().map(|(quarter, _, _)| moment_of(*quarter));
    let (Some(first), Some(last)) = (moments().min(), moments().max()) else { return Vec::new() };
    let (from, to) = since.map_or((first, last), |since| (first.min(since), last.max(now)));
    let mut bars = bars(from, to, zone);
    for (quarter, _, spend) in spent {
        let bar = bars.partition_point(|bar| bar.from.0 <= moment_of(*quarter)).checked_sub(1);
        if let Some(bar) = bar.and_then(|bar| bars.get_mut(bar)) {
            bar.cost.0 += spend.cost;
            bar.estimated_cost.0 += spend.estimated_cost;
        }
    }
    bars
}

pub fn before(spent: &[(u64, &String, LedgerSpend)], since: Moment) -> Usd {
    let before = spent.iter().filter(|(quarter, _, _)| *quarter < since.0 / QUARTER_MS);
    before.map(|(_, _, spend)| spend.cost + spend.estimated_cost).sum()
}

/// Returns empty bars that cover `from` to `to`, or none if the calendar does not reach that far.
fn bars(from: Moment, to: Moment, zone: &TimeZone) -> Vec<Bucket> {
    let fit = |(unit, step): &(Unit, i64)| {
        let bars = steps(from, to, *unit, *step, zone)?;
        (bars.len() <= BARS_MAX).then_some(bars)
    };
    STEPS.iter().find_map(fit).unwrap_or_default()
}

fn steps(from: Moment, to: Moment, unit: Unit, step: i64, zone: &TimeZone) -> Option<Vec<Bucket>> {
    let start = Timestamp::from_millisecond(i64::try_from(from.0).ok()?).ok()?.to_zoned(zone.clone());
    let mut at = floor(&start, unit, step)?;
    let span = match unit {
        Unit::Minute => Span::new().try_minutes(step).ok()?,
        Unit::Hour => Span::new().try_hours(step).ok()?,
        _ => Span::new().try_days(step).ok()?,
    };
    let mut bars = Vec::new();
    // One bar too many suffices to reject this length.
    while moment(&at) <= to && bars.len() <= BARS_MAX {
        let next = at.checked_add(span).ok()?;
        bars.push(Bucket {
            from: moment(&at).into(),
            to: moment(&next).into(),
            cost: Dollars::default(),
            estimated_cost: Dollars::default(),
        });
        at = next;
    }
    Some(bars)
}

/// Returns the local time at which a bar of this length starts.
fn floor(at: &Zoned, unit: Unit, step: i64) -> Option<Zoned> {
    let increment = if unit == Unit::Day { 1 } else { step };
    at.round(ZonedRound::new().smallest(unit).increment(increment).mode(RoundMode::Floor)).ok()
}

fn moment(at: &Zoned) -> Moment {
    Moment(u64::try_from(at.timestamp().as_millisecond()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Describes the number of bars, the start and length of the first, and the amount of each bar that is
    /// not empty.
    fn describe(hours: &[(u64, u64)], since: Option<u64>, now: u64) -> String {
        let hour = |hour: u64| Moment(1_767_225_600_000 + hour * 3_600_000);
        let model = "sonnet".to_owned();
        let spent = hours.iter().map(|(at, cents)| {
            let spend = LedgerSpend { cost: Usd(cents * 10_000), ..LedgerSpend::default() };
            (hour(*at).0 / QUARTER_MS, &model, spend)
        });
        let spent: Vec<_> = spent.collect();
        let zone = TimeZone::get("Europe/Berlin").expect("it is a zone");
        let bars = over_time(&spent, since.map(hour), hour(now), &zone);
        let Some(first) = bars.first() else { return "none".to_owned() };
        let filled = bars.iter().enumerate().filter(|(_, bar)| bar.cost.0 > Usd::ZERO);
        let filled: Vec<String> = filled.map(|(index, bar)| format!("{index}: {}", bar.cost.0)).collect();
        assert!(bars.windows(2).all(|pair| pair[0].to == pair[1].from), "there are gaps: {bars:?}");
        let length = first.to.0.since(first.from.0);
        format!("{} of {length} from {}; {}", bars.len(), first.from, filled.join(", "))
    }

    #[test]
    fn bar_length_fits_number_of_bars() {
        let check = |actual: String, expected: &str| assert_eq!(actual, expected);
        check(describe(&[], Some(0), 24), "none");
        check(describe(&[(5, 7)], None, 99), "1 of 15m from 2026-01-01T05:00:00.000Z; 0: $0.0700");
        check(
            describe(&[(1, 5), (5, 7), (5, 1)], Some(0), 24),
            "25 of 1h from 2026-01-01T00:00:00.000Z; 1: $0.0500, 5: $0.0800",
        );
        // Bars of 12 hours start at noon and midnight, local time.
        check(
            describe(&[(1, 5), (400, 7)], None, 400),
            "34 of 12h from 2025-12-31T23:00:00.000Z; 0: $0.0500, 33: $0.0700",
        );
        check(
            describe(&[(1, 5), (1000, 7)], None, 1000),
            "42 of 1d from 2025-12-31T23:00:00.000Z; 0: $0.0500, 41: $0.0700",
        );
        // Spending from before the reported period is shown, too.
        check(
            describe(&[(0, 5), (30, 7)], Some(24), 48),
            "25 of 2h from 2025-12-31T23:00:00.000Z; 0: $0.0500, 15: $0.0700",
        );
    }
}
