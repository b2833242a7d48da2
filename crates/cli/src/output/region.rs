//! A few lines at the bottom of a terminal that are redrawn in place, with `indicatif`. The cursor rests at
//! the start of the first line, so resizing the terminal or its `^C` displaces nothing. Never reads input.

use super::{out, terminal_size};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle, TermLike};
use std::fmt::Write as _;
use std::io;
use std::sync::Mutex;
use std::time::Duration;
use std::{env, mem};

// Durations are shown in seconds, and a resized terminal must soon be correct again.
const TICK_EVERY: Duration = Duration::from_millis(500);

/// Lines that are redrawn in place until the region is closed.
pub struct Region(ProgressBar);

impl Region {
    /// Draws the lines that `frame` returns for a width and a height, now and twice a second. Returns `None`
    /// if stderr is not a terminal with a movable cursor.
    pub fn open(
        frame: impl Fn(usize, usize) -> Vec<String> + Clone + Send + Sync + 'static,
    ) -> Option<Region> {
        if !is_drawable() {
            return None;
        }
        let style = ProgressStyle::with_template("{lines}").expect("the template is valid");
        let style = style.with_key("lines", move |_: &_, out: &mut dyn std::fmt::Write| {
            let (width, height) = size();
            // A line that fills its row leaves the cursor in a position that differs between terminals.
            let lines = frame(width - 1, height - 1);
            let _ = out.write_str(&lines.join("\n"));
        });
        let target = ProgressDrawTarget::term_like(Box::new(Lines::default()));
        let bar = ProgressBar::with_draw_target(None, target).with_finish(ProgressFinish::AndClear);
        bar.set_style(style);
        bar.enable_steady_tick(TICK_EVERY);
        Some(Region(bar))
    }

    pub fn redraw(&self) {
        self.0.force_draw();
    }

    /// Calls `print` to print above the lines.
    pub fn print_above(&self, print: impl FnOnce()) {
        self.0.suspend(print);
    }

    pub fn close(self) {
        self.0.finish_and_clear();
    }
}

/// Returns whether stderr is a terminal with a movable cursor.
pub fn is_drawable() -> bool {
    let can_move = env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb");
    can_move && out::stderr_is_terminal()
}

fn size() -> (usize, usize) {
    // The size of a terminal that does not report one.
    const USUAL: (usize, usize) = (80, 24);
    let (width, height) = terminal_size(out::stderr()).unwrap_or(USUAL);
    (width.max(2), if height == 0 { USUAL.1 } else { height.max(2) })
}

/// The terminal as `indicatif` sees it. It collects the lines of a frame and writes them at once.
#[derive(Debug, Default)]
struct Lines(Mutex<Vec<String>>);

impl TermLike for Lines {
    fn width(&self) -> u16 {
        u16::try_from(size().0).unwrap_or(u16::MAX)
    }

    fn height(&self) -> u16 {
        u16::try_from(size().1).unwrap_or(u16::MAX)
    }

    // The cursor is at the start of the first line already.
    fn move_cursor_up(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_down(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_right(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_left(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        Ok(())
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.write_str(text)
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        // Between the lines, `indicatif` writes spaces up to the edge.
        if !text.trim().is_empty() {
            self.0.lock().expect("no writer panics").push(text.to_owned());
        }
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        let lines = mem::take(&mut *self.0.lock().expect("no writer panics"));
        out::draw(&frame(&lines), lines.is_empty())
    }
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
