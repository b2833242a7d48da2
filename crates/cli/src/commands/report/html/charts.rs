//! Draws timelines, bars and spending as SVG.
//!
//! Each drawing has an equivalent text, colors are paired with shapes, and the number of elements is limited.

use super::super::cost;
use super::super::run_timeline::{SliceKind, TimelineSlice};
use super::super::spend::Bucket;
use crate::output::phrases::counted;
use crate::output::time::TimeFormat;
use longhaul_core::{Span, Usd};
use maud::{Markup, html};
use std::collections::{BTreeMap, BTreeSet};

// Width of a timeline in SVG units.
const WIDE: f64 = 1_000.0;
// Up to this many bars are drawn on a third of the screen's width.
const FEW_BARS: usize = 12;

/// A segment of a drawn timeline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BarSegment {
    /// Activity of the run.
    pub kind: SliceKind,
    /// Start, from 0 to 1.
    pub from: f64,
    /// Length, from 0 to 1.
    pub length: f64,
}

/// Reduces a timeline to at most `2 * finest + 1` segments. Slices too short to be visible are merged with
/// their neighbors; the longest activity decides the kind.
pub fn segments(slices: &[TimelineSlice], finest: usize) -> Vec<BarSegment> {
    let (Some(first), Some(last)) = (slices.first(), slices.last()) else { return Vec::new() };
    let all = last.to.0.since(first.from.0).millis().max(1) as f64;
    let least = 1.0 / finest.max(1) as f64;
    let mut segments: Vec<BarSegment> = Vec::new();
    let mut small: Vec<BarSegment> = Vec::new();
    for slice in slices {
        let from = slice.from.0.since(first.from.0).millis() as f64 / all;
        let segment = BarSegment {
            kind: slice.kind,
            from,
            length: slice.to.0.since(slice.from.0).millis() as f64 / all,
        };
        if segment.length >= least {
            segments.extend(merge(&mut small));
            segments.push(segment);
            continue;
        }
        small.push(segment);
        if segment.from + segment.length - small[0].from >= least {
            segments.extend(merge(&mut small));
        }
    }
    segments.extend(merge(&mut small));
    segments
}

/// Merges segments into one. Its kind is the one with the most time.
fn merge(small: &mut Vec<BarSegment>) -> Option<BarSegment> {
    let (first, last) = (*small.first()?, *small.last()?);
    let mut kinds: BTreeMap<SliceKind, f64> = BTreeMap::new();
    for segment in small.drain(..) {
        *kinds.entry(segment.kind).or_default() += segment.length;
    }
    let kind = kinds.into_iter().max_by(|one, other| one.1.total_cmp(&other.1))?.0;
    Some(BarSegment { kind, from: first.from, length: last.from + last.length - first.from })
}

pub fn timeline(slices: &[TimelineSlice], finest: usize, clock: &TimeFormat) -> Markup {
    let (Some(first), Some(last)) = (slices.first(), slices.last()) else { return Markup::default() };
    html! {
        figure {
            svg.timeline viewBox="0 0 1000 24" preserveAspectRatio="none" role="img" aria-label="Timeline" {
                @for segment in segments(slices, finest) {
                    // Even the shortest segment stays visible.
                    (rect(segment.kind, segment.from * WIDE, (segment.length * WIDE).max(1.0)))
                }
            }
            (axis(&clock.short(first.from.0), &label(slices), &clock.short(last.to.0)))
        }
    }
}

fn axis(from: &str, label: &str, to: &str) -> Markup {
    html! { figcaption.axis { span { (from) } span.label { (label) } span { (to) } } }
}

fn label(slices: &[TimelineSlice]) -> String {
    let mut kinds: BTreeMap<SliceKind, Span> = BTreeMap::new();
    for slice in slices {
        let sum = kinds.entry(slice.kind).or_default();
        *sum = *sum + slice.to.0.since(slice.from.0);
    }
    let each = kinds.into_iter().map(|(kind, span)| format!("{} {span}", kind.brief()));
    each.collect::<Vec<_>>().join(", ")
}

/// Draws a segment of a timeline. Each kind has its own height, for people who cannot distinguish the colors.
fn rect(kind: SliceKind, x: f64, width: f64) -> Markup {
    let (y, height) = match kind {
        SliceKind::Working => (4, 16),
        SliceKind::Failed => (0, 24),
        SliceKind::Waiting => (10, 4),
        SliceKind::Checking => (7, 10),
        SliceKind::Downtime => (17, 7),
        SliceKind::Finished => (20, 4),
    };
    html! { rect class={ "s-" (kind) } x=(short(x)) y=(y) width=(short(width)) height=(height) {} }
}

pub fn legend<'a>(slices: impl Iterator<Item = &'a TimelineSlice>) -> Markup {
    let drawn: BTreeSet<SliceKind> = slices.map(|slice| slice.kind).collect();
    if drawn.is_empty() {
        return Markup::default();
    }
    html! {
        ul.legend {
            @for kind in SliceKind::ALL.iter().filter(|kind| drawn.contains(kind)) {
                li {
                    svg viewBox="0 0 30 24" preserveAspectRatio="none" aria-hidden="true" {
                        (rect(*kind, 0.0, 30.0))
                    }
                    (kind.label())
                }
            }
        }
    }
}

pub fn bar(part: u64, whole: u64) -> Markup {
    let width = short(part as f64 / whole.max(1) as f64 * 100.0);
    html! {
        svg.bar viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" {
            rect width=(width) height="8" {}
        }
    }
}

pub fn spending(bars: &[Bucket], clock: &TimeFormat) -> Markup {
    let (Some(first), Some(last)) = (bars.first(), bars.last()) else { return Markup::default() };
    let total = |bar: &Bucket| bar.cost.0 + bar.estimated_cost.0;
    let most = bars.iter().map(total).max().unwrap_or_default();
    let height = |amount: Usd| amount.0 as f64 / most.0.max(1) as f64 * 96.0;
    let length = first.to.0.since(first.from.0);
    let label = format!("{} of {length} each; the largest is {most}", counted(bars.len() as u64, "bar"));
    // A few bars across a whole screen would be too wide.
    let class = if bars.len() <= FEW_BARS { "few" } else { "many" };
    let has_estimates = bars.iter().any(|bar| bar.estimated_cost.0 > Usd::ZERO);
    let lines = html! {
        @for bar in bars.iter().filter(|bar| total(bar) > Usd::ZERO) {
            tr {
                th scope="row" { (clock.short(bar.from.0)) }
                td class="number cost" { (cost(bar.cost, bar.estimated_cost, false)) }
            }
        }
    };
    html! {
        figure class=(class) {
            svg.chart viewBox={ "0 0 " (bars.len() * 10) " 100" } preserveAspectRatio="none" role="img"
                aria-label=(label) {
                @for (index, bar) in bars.iter().enumerate() {
                    @let (reported, all) = (height(bar.cost.0), height(total(bar)));
                    (column("reported", index, reported, 0.0))
                    (column("estimated", index, all - reported, reported))
                }
            }
            (axis(&clock.short(first.from.0), &label, &clock.short(last.to.0)))
        }
        ul.legend {
            (legend_entry("reported", "reported by the agent"))
            @if has_estimates {
                (legend_entry("estimated", "estimated (narrower, above the reported cost)"))
            }
        }
        details {
            summary { "Show as a table" }
            (super::table(None, &[("From", None), ("Spent", super::NUMBER)], lines))
        }
    }
}

fn legend_entry(class: &str, text: &str) -> Markup {
    html! {
        li {
            svg viewBox="0 0 10 10" preserveAspectRatio="none" aria-hidden="true" {
                (column(class, 0, 10.0, 90.0))
            }
            (text)
        }
    }
}

/// Draws a part of a bar. `below` is the height of the parts under it.
fn column(class: &str, index: usize, height: f64, below: f64) -> Markup {
    let (margin, width) = if class == "estimated" { (3.0, 4) } else { (1.0, 8) };
    let (x, y) = (short(index as f64 * 10.0 + margin), short(100.0 - below - height));
    html! {
        @if height > 0.0 { rect class=(class) x=(x) y=(y) width=(width) height=(short(height)) {} }
    }
}

fn short(length: f64) -> String {
    let text = format!("{length:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_core::Moment;

    fn slices(lengths: &[(SliceKind, u64)]) -> Vec<TimelineSlice> {
        let mut at = Moment(1_000);
        let slice = |(kind, length): &(SliceKind, u64)| {
            let from = at;
            at = at + Span(*length);
            TimelineSlice { kind: *kind, fault: None, from: from.into(), to: at.into() }
        };
        lengths.iter().map(slice).collect()
    }

    #[test]
    fn merges_invisible_slices_into_dominant_kind() {
        use SliceKind::{Failed, Waiting, Working};
        let drawn = |lengths: &[(SliceKind, u64)]| {
            let segments = segments(&slices(lengths), 10);
            segments
                .iter()
                .map(|segment| (segment.kind, (segment.length * 100.0).round() as u64))
                .collect::<Vec<_>>()
        };
        assert_eq!(drawn(&[]), []);
        assert_eq!(drawn(&[(Working, 50), (Failed, 50)]), [(Working, 50), (Failed, 50)]);
        assert_eq!(
            drawn(&[(Working, 50), (Failed, 3), (Waiting, 5), (Failed, 3), (Working, 39)]),
            [(Working, 50), (Failed, 11), (Working, 39)]
        );
        assert_eq!(drawn(&[(Failed, 1), (Working, 99)]), [(Failed, 1), (Working, 99)]);
    }

    #[test]
    fn draws_ten_thousand_waits_in_few_segments() {
        let many: Vec<_> =
            (0..10_000).flat_map(|_| [(SliceKind::Failed, 3), (SliceKind::Waiting, 5)]).collect();
        let segments = segments(&slices(&many), 24);
        assert!(segments.len() <= 49, "{}", segments.len());
        let total: f64 = segments.iter().map(|segment| segment.length).sum();
        assert!((total - 1.0).abs() < 1e-9, "{total}");
    }
}
