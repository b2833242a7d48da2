use super::{LINE_BYTES_MAX, Line, LineSplitter};
use proptest::prelude::*;

fn split(chunks: &[&[u8]]) -> Vec<Option<Vec<u8>>> {
    let mut lines = LineSplitter::default();
    let mut seen = Vec::new();
    let mut each = |line: Line<'_>| {
        seen.push(match line {
            Line::Whole(bytes) => Some(bytes.to_vec()),
            Line::TooLong => None,
        });
    };
    let mut line_start = 0;
    for chunk in chunks {
        lines.feed(chunk, |line, end| {
            if let Line::Whole(bytes) = line {
                assert_eq!(end, line_start + bytes.len() as u64 + 1);
            }
            line_start = end;
            each(line);
        });
    }
    assert_eq!(lines.read_bytes, chunks.iter().map(|chunk| chunk.len() as u64).sum::<u64>());
    lines.finish(&mut each);
    assert!(lines.partial.capacity() <= super::BUFFER_BYTES_RETAINED, "memory is flat");
    seen
}

#[test]
fn drops_lines_over_limit() {
    let longest = vec![b'x'; LINE_BYTES_MAX];
    for pieces in [1, 3] {
        let size = longest.len().div_ceil(pieces);
        let chunks = |last: &'static [u8]| {
            let mut chunks: Vec<&[u8]> = longest.chunks(size).collect();
            chunks.push(last);
            split(&chunks)
        };
        assert_eq!(chunks(b"\nnext\n"), [Some(longest.clone()), Some(b"next".to_vec())]);
        assert_eq!(chunks(b"y\nnext\n"), [None, Some(b"next".to_vec())]);
        assert_eq!(chunks(b"y"), [None]);
    }
}

proptest! {
    #[test]
    fn chunking_does_not_affect_lines(text in "[a\n]{0,40}", cuts in prop::collection::vec(0_usize..40, 0..6)) {
        let whole: Vec<_> = split(&[text.as_bytes()]);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|split| split.min(text.len())).collect();
        cuts.push(0);
        cuts.push(text.len());
        cuts.sort_unstable();
        let chunks: Vec<&[u8]> = cuts.windows(2).map(|pair| &text.as_bytes()[pair[0]..pair[1]]).collect();
        prop_assert_eq!(split(&chunks), whole);
    }
}
