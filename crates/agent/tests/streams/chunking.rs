//! Splitting a stream differently does not change its meaning.

use super::fixtures::{Fixture, all};
use proptest::prelude::*;
use std::sync::LazyLock;

static FIXTURES: LazyLock<Vec<Fixture>> = LazyLock::new(all);

fn pieces<'a>(bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    cuts.extend([0, bytes.len()]);
    cuts.sort_unstable();
    cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn chunking_does_not_affect_decoding(
        index in any::<prop::sample::Index>(),
        cuts in prop::collection::vec(any::<usize>(), 0..40),
    ) {
        let fixture = index.get(&FIXTURES);
        let whole = fixture.read([&fixture.bytes[..]]);
        let cut = fixture.read(pieces(&fixture.bytes, &cuts));
        prop_assert_eq!(whole, cut, "{}", fixture.name);
    }
}

#[test]
fn decodes_byte_by_byte() {
    for fixture in FIXTURES.iter() {
        let whole = fixture.read([&fixture.bytes[..]]);
        assert_eq!(whole, fixture.read(fixture.bytes.chunks(1)), "{}", fixture.name);
    }
}

#[test]
fn final_newline_is_optional() {
    for fixture in FIXTURES.iter() {
        let truncated = fixture.read([fixture.bytes.trim_ascii_end()]);
        let whole = fixture.read([&fixture.bytes[..]]);
        assert_eq!(
            (truncated.evidence, truncated.side_effects),
            (whole.evidence, whole.side_effects),
            "{}",
            fixture.name
        );
    }
}
