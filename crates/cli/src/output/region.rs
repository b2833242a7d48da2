//! A few lines at the bottom of a terminal that are redrawn in place. The cursor rests at the start of the first
//! line, so resizing the terminal or its `^C` displaces nothing. Never reads input.

use super::{out, terminal_size};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{env, thread};

// Durations are shown in seconds, and a resized terminal must soon be correct again.
const TICK_EVERY: Duration = Duration::from_millis(500);

/// Returns the lines for a width and a height.
type Content = dyn Fn(usize, usize) -> Vec<String> + Send;

/// Lines that are redrawn in place. Dropping the region clears them; its content is then `None`.
pub struct Region(Arc<Mutex<Option<Box<Content>>>>);

impl Region {
    /// Draws the lines that `content` returns for a width and a height, now and twice a second. Returns `None`
    /// if stderr is not a terminal with a movable cursor.
    pub fn open(content: impl Fn(usize, usize) -> Vec<String> + Send + 'static) -> Option<Region> {
        if !is_drawable() {
            return None;
        }
        let content: Box<Content> = Box::new(content);
        let region = Region(Arc::new(Mutex::new(Some(content))));
        let drawn = Arc::clone(&region.0);
        // Without the thread, the lines change only when `redraw` is called.
        let _ = thread::Builder::new().name("live view".to_owned()).spawn(move || {
            while draw_content(drawn.lock().expect("no drawing panics").as_deref()) {
                thread::sleep(TICK_EVERY);
            }
        });
        Some(region)
    }

    pub fn redraw(&self) {
        draw_content(self.0.lock().expect("no drawing panics").as_deref());
    }

    /// Calls `print` to print above the lines.
    pub fn print_above(&self, print: impl FnOnce()) {
        let content = self.0.lock().expect("no drawing panics");
        draw(&[]);
        print();
        draw_content(content.as_deref());
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        if let Ok(mut content) = self.0.lock() {
            *content = None;
            draw(&[]);
        }
    }
}

/// Returns whether stderr is a terminal with a movable cursor.
pub fn is_drawable() -> bool {
    let can_move = env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb");
    can_move && out::stderr_is_terminal()
}

/// Draws the lines as they are now, unless the region is closed. Returns whether it is open.
fn draw_content(content: Option<&Content>) -> bool {
    // The size of a terminal that does not report one.
    const USUAL: (usize, usize) = (80, 24);
    let Some(content) = content else { return false };
    let (width, height) = terminal_size(out::stderr()).unwrap_or(USUAL);
    let (width, height) = (width.max(2), if height == 0 { USUAL.1 } else { height.max(2) });
    // A line that fills its row leaves the cursor in a position that differs between terminals.
    draw(&content(width - 1, height - 1));
    true
}

/// Draws these lines over the previous ones. The run continues without its terminal.
fn draw(lines: &[String]) {
    let _ = out::draw(&frame(lines), lines.is_empty());
}

/// Returns the bytes that draw these lines over the previous ones and return to the start of the first line.
/// Lines never wrap, even if the terminal draws a character wider than expected.
fn frame(lines: &[String]) -> String {
    let mut drawn = "\r\x1b[?7l".to_owned();
    for (index, line) in lines.iter().enumerate() {
        let end = if index == 0 { "" } else { "\r\n" };
        write!(drawn, "{end}{}\x1b[K", out::sanitize(line)).expect("a string takes all");
    }
    // Removes the rest of a taller frame, or of one that a narrower terminal has wrapped.
    drawn += "\x1b[J";
    if lines.len() > 1 {
        write!(drawn, "\x1b[{}A", lines.len() - 1).expect("a string takes all");
    }
    drawn += "\r\x1b[?7h";
    drawn
}
