//! What a page draws: timelines, bars, what was spent when. Each drawing has a text that says the same, colours stand
//! beside shapes, and no drawing has more parts than can be told apart.

use super::super::format::cost;
use super::super::run_timeline::{SliceKind, TimelineSlice};
use super::super::spend::Bucket;
use super::writer::Html;
use crate::output::phrases::{counted, money};
use crate::output::time::TimeFormat;
use longhaul_core::{Span, Usd};
use std::collections::{BTreeMap, BTreeSet};

// The width of a timeline in its own units.
const WIDE: f64 = 1_000.0;
// A third of a screen is enough for so many bars.
const FEW_BARS: usize = 12;

/// A part of a timeline as it is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BarSegment {
    /// What is drawn.
    pub kind: SliceKind,
    /// Where it begins, from 0 to 1.
    pub from: f64,
    /// How long it is.
    pub wide: f64,
}

/// A timeline of at most twice so many parts and one. What is too short to be seen is drawn together with what is beside
/// it, as what most of it is.
pub fn strokes(slices: &[TimelineSlice], finest: usize) -> Vec<BarSegment> {
    let (Some(first), Some(last)) = (slices.first(), slices.last()) else { return Vec::new() };
    let all = last.to.since(first.from).millis().max(1) as f64;
    let least = 1.0 / finest.max(1) as f64;
    let mut strokes: Vec<BarSegment> = Vec::new();
    let mut small: Vec<BarSegment> = Vec::new();
    for slice in slices {
        let from = slice.from.since(first.from).millis() as f64 / all;
        let stroke =
            BarSegment { kind: slice.kind, from, wide: slice.to.since(slice.from).millis() as f64 / all };
        if stroke.wide >= least {
            strokes.extend(together(&mut small));
            strokes.push(stroke);
            continue;
        }
        small.push(stroke);
        if small
            .last()
            .zip(small.first())
            .is_some_and(|(last, first)| last.from + last.wide - first.from >= least)
        {
            strokes.extend(together(&mut small));
        }
    }
    strokes.extend(together(&mut small));
    strokes
}

/// Several as one, of the kind that most of them are.
fn together(small: &mut Vec<BarSegment>) -> Option<BarSegment> {
    let (first, last) = (*small.first()?, *small.last()?);
    let mut kinds: BTreeMap<SliceKind, f64> = BTreeMap::new();
    for stroke in small.drain(..) {
        *kinds.entry(stroke.kind).or_default() += stroke.wide;
    }
    let kind = kinds.into_iter().max_by(|one, other| one.1.total_cmp(&other.1))?.0;
    Some(BarSegment { kind, from: first.from, wide: last.from + last.wide - first.from })
}

/// A run's timeline.
pub fn timeline(html: &mut Html, slices: &[TimelineSlice], finest: usize, clock: &TimeFormat) {
    let (Some(first), Some(last)) = (slices.first(), slices.last()) else { return };
    html.element("figure", &[], |html| {
        let label = label(slices);
        let whole = [("class", "timeline"), ("viewBox", "0 0 1000 24"), ("preserveAspectRatio", "none")];
        html.element(
            "svg",
            &[whole[0], whole[1], whole[2], ("role", "img"), ("aria-label", "Timeline")],
            |html| {
                for stroke in strokes(slices, finest) {
                    // A hair is still seen.
                    rect(html, stroke.kind, stroke.from * WIDE, (stroke.wide * WIDE).max(1.0));
                }
            },
        );
        axis(html, [&clock.short(first.from), &label, &clock.short(last.to)]);
    });
}

/// What is below a drawing: where it begins, what it says, where it ends.
fn axis(html: &mut Html, [from, label, to]: [&str; 3]) {
    html.element("figcaption", &[("class", "axis")], |html| {
        html.leaf("span", &[], from);
        html.leaf("span", &[("class", "label")], label);
        html.leaf("span", &[], to);
    });
}

/// How long it did each, in words.
fn label(slices: &[TimelineSlice]) -> String {
    let mut kinds: BTreeMap<SliceKind, Span> = BTreeMap::new();
    for slice in slices {
        let sum = kinds.entry(slice.kind).or_default();
        *sum = *sum + slice.to.since(slice.from);
    }
    let each = kinds.into_iter().map(|(kind, span)| format!("{} {span}", kind.brief()));
    each.collect::<Vec<_>>().join(", ")
}

/// A part of a timeline. Each kind has a height of its own, for those who cannot tell the colours apart.
fn rect(html: &mut Html, kind: SliceKind, x: f64, wide: f64) {
    let (class, y, height) = match kind {
        SliceKind::Working => ("s-working", "4", "16"),
        SliceKind::Failed => ("s-failed", "0", "24"),
        SliceKind::Waiting => ("s-waiting", "10", "4"),
        SliceKind::Checking => ("s-checking", "7", "10"),
        SliceKind::Asleep => ("s-asleep", "17", "7"),
        SliceKind::Over => ("s-over", "20", "4"),
    };
    let (x, wide) = (short(x), short(wide));
    html.element(
        "rect",
        &[("class", class), ("x", &x), ("y", y), ("width", &wide), ("height", height)],
        |_| {},
    );
}

/// What the shapes and colours of these timelines mean.
pub fn legend<'a>(html: &mut Html, slices: impl Iterator<Item = &'a TimelineSlice>) {
    let drawn: BTreeSet<SliceKind> = slices.map(|slice| slice.kind).collect();
    if drawn.is_empty() {
        return;
    }
    html.element("ul", &[("class", "legend")], |html| {
        for kind in SliceKind::ALL.iter().filter(|kind| drawn.contains(kind)) {
            html.element("li", &[], |html| {
                let whole =
                    [("viewBox", "0 0 30 24"), ("preserveAspectRatio", "none"), ("aria-hidden", "true")];
                html.element("svg", &whole, |html| rect(html, *kind, 0.0, 30.0));
                html.text(kind.label());
            });
        }
    });
}

/// A bar below a figure: which part of the whole it is.
pub fn bar(html: &mut Html, part: u64, whole: u64) {
    let wide = short(part as f64 / whole.max(1) as f64 * 100.0);
    let svg = [
        ("class", "bar"),
        ("viewBox", "0 0 100 8"),
        ("preserveAspectRatio", "none"),
        ("aria-hidden", "true"),
    ];
    html.element("svg", &svg, |html| {
        html.element("rect", &[("width", &wide), ("height", "8")], |_| {});
    });
}

/// What was spent when.
pub fn spent(html: &mut Html, bars: &[Bucket], clock: &TimeFormat) {
    let (Some(first), Some(last)) = (bars.first(), bars.last()) else { return };
    let total = |bar: &Bucket| bar.cost + bar.estimated_cost;
    let most = bars.iter().map(total).max().unwrap_or_default();
    let length = first.to.since(first.from);
    let label =
        format!("{} of {length} each; the most in one is {}", counted(bars.len() as u64, "bar"), money(most));
    // Few bars across a whole screen are walls.
    let class = if bars.len() <= FEW_BARS { "few" } else { "many" };
    html.element("figure", &[("class", class)], |html| {
        let view = format!("0 0 {} 100", bars.len() * 10);
        let svg = [
            ("class", "chart"),
            ("viewBox", view.as_str()),
            ("preserveAspectRatio", "none"),
            ("role", "img"),
            ("aria-label", label.as_str()),
        ];
        html.element("svg", &svg, |html| {
            for (place, bar) in bars.iter().enumerate() {
                let tall = |amount: Usd| amount.0 as f64 / most.0.max(1) as f64 * 96.0;
                let (reported, all) = (tall(bar.cost), tall(total(bar)));
                column(html, ("stated", place), reported, 0.0);
                column(html, ("estimated", place), all - reported, reported);
            }
        });
        axis(html, [&clock.short(first.from), &label, &clock.short(last.to)]);
    });
    html.element("ul", &[("class", "legend")], |html| {
        let estimated = bars.iter().any(|bar| bar.estimated_cost > Usd::ZERO);
        for (class, told, there) in [
            ("stated", "stated by the vendor", true),
            ("estimated", "estimated, on top of it and narrower", estimated),
        ] {
            if !there {
                continue;
            }
            html.element("li", &[], |html| {
                let whole =
                    [("viewBox", "0 0 10 10"), ("preserveAspectRatio", "none"), ("aria-hidden", "true")];
                html.element("svg", &whole, |html| {
                    column(html, (class, 0), 10.0, 90.0);
                });
                html.text(told);
            });
        }
    });
    html.element("details", &[], |html| {
        html.leaf("summary", &[], "The same as a table");
        html.element("table", &[], |html| {
            super::head(html, &[("From", ""), ("Spent", "number")]);
            html.element("tbody", &[], |html| {
                for bar in bars.iter().filter(|bar| total(bar) > Usd::ZERO) {
                    html.element("tr", &[], |html| {
                        html.leaf("th", &[("scope", "row")], &clock.short(bar.from));
                        html.leaf(
                            "td",
                            &[("class", "number cost")],
                            &cost(bar.cost, bar.estimated_cost, false),
                        );
                    });
                }
            });
        });
    });
}

/// A part of a bar, from the bottom of the picture up.
fn column(html: &mut Html, (class, place): (&'static str, usize), tall: f64, above: f64) {
    if tall <= 0.0 {
        return;
    }
    let (margin, wide) = if class == "estimated" { (3.0, "4") } else { (1.0, "8") };
    let (x, y, height) = (short(place as f64 * 10.0 + margin), short(100.0 - above - tall), short(tall));
    html.element(
        "rect",
        &[("class", class), ("x", &x), ("y", &y), ("width", wide), ("height", &height)],
        |_| {},
    );
}

/// A length with one decimal, if it needs one.
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
            TimelineSlice { kind: *kind, fault: None, from, to: at }
        };
        lengths.iter().map(slice).collect()
    }

    #[test]
    fn what_is_too_short_to_be_seen_is_drawn_as_what_most_of_it_is() {
        use SliceKind::{Failed, Waiting, Working};
        let told = |lengths: &[(SliceKind, u64)]| {
            let strokes = strokes(&slices(lengths), 10);
            strokes
                .iter()
                .map(|stroke| (stroke.kind, (stroke.wide * 100.0).round() as u64))
                .collect::<Vec<_>>()
        };
        assert_eq!(told(&[]), []);
        assert_eq!(told(&[(Working, 50), (Failed, 50)]), [(Working, 50), (Failed, 50)]);
        assert_eq!(
            told(&[(Working, 50), (Failed, 3), (Waiting, 5), (Failed, 3), (Working, 39)]),
            [(Working, 50), (Failed, 11), (Working, 39)]
        );
        assert_eq!(told(&[(Failed, 1), (Working, 99)]), [(Failed, 1), (Working, 99)]);
    }

    #[test]
    fn a_run_of_ten_thousand_waits_is_drawn_in_few_strokes() {
        let many: Vec<_> =
            (0..10_000).flat_map(|_| [(SliceKind::Failed, 3), (SliceKind::Waiting, 5)]).collect();
        let strokes = strokes(&slices(&many), 24);
        assert!(strokes.len() <= 49, "{}", strokes.len());
        let wide: f64 = strokes.iter().map(|stroke| stroke.wide).sum();
        assert!((wide - 1.0).abs() < 1e-9, "{wide}");
    }
}
