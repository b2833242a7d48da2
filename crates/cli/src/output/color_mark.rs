//! Marks of colors in text that is not printed yet. `out` replaces them by escape sequences.

use std::sync::LazyLock;

/// Marks the start of a color until the text is printed. It is random per process, so text from outside
/// cannot contain it.
static MARK: LazyLock<char> = LazyLock::new(|| {
    // Any private-use character of the last plane.
    let offset = getrandom::u64().unwrap_or_default() % 0xfffd;
    char::from_u32(0x10_0001 + offset as u32).expect("all of them are characters")
});
// Ends a color.
pub const END: char = '0';

/// Returns the character that precedes the code of a color.
pub fn mark() -> char {
    *MARK
}

/// Returns the escape sequence for the code after a mark, or `None` if the code is unknown. It uses the
/// sixteen colors of the terminal's own palette.
pub fn sequence(code: char) -> Option<&'static str> {
    Some(match code {
        END => "\x1b[0m",
        'g' => "\x1b[32m",
        'b' => "\x1b[1;31m",
        'c' => "\x1b[33m",
        'o' => "\x1b[36m",
        'h' => "\x1b[1m",
        _ => return None,
    })
}
