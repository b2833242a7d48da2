//! A few lines at the bottom of a terminal that are redrawn in place. The cursor rests at the start of the first
//! line, so resizing the terminal or its `^C` displaces nothing. Never reads input.

use super::out::{self, background};
use super::terminal_size;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use std::{env, thread};

// Durations are shown in seconds, and a resized terminal must soon be correct again.
const TICK_EVERY: Duration = Duration::from_millis(500);

/// Returns the lines of a state for a width and a height.
type Lines<S> = fn(&mut S, usize, usize) -> Vec<String>;

/// Lines that show a state and are redrawn in place. Dropping the region clears them; its state is then `None`.
pub struct Region<S> {
    state: Arc<Mutex<Option<S>>>,
    lines: Lines<S>,
}

impl<S: Send + 'static> Region<S> {
    /// Draws the lines of the state, now and twice a second. Returns `None` if stderr is not a terminal with a movable
    /// cursor.
    pub fn open(state: S, lines: Lines<S>) -> Option<Region<S>> {
        let can_move = env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb");
        if !can_move || !out::stderr_is_terminal() {
            return None;
        }
        let region = Region { state: Arc::new(Mutex::new(Some(state))), lines };
        let state = Arc::clone(&region.state);
        // Without the thread, the lines change only when `redraw` is called.
        let _ = thread::Builder::new().name("live view".to_owned()).spawn(move || {
            while draw_state(state.lock().expect("no drawing panics").as_mut(), lines) {
                thread::sleep(TICK_EVERY);
            }
        });
        Some(region)
    }

    /// Changes the state. The lines show it when they are drawn next.
    pub fn update<T>(&self, change: impl FnOnce(&mut S) -> T) -> T {
        change(self.lock().as_mut().expect("only a dropped region has no state"))
    }

    pub fn redraw(&self) {
        draw_state(self.lock().as_mut(), self.lines);
    }

    pub fn print_above(&self, print: impl FnOnce()) {
        let mut state = self.lock();
        draw(&[]);
        print();
        draw_state(state.as_mut(), self.lines);
    }

    fn lock(&self) -> MutexGuard<'_, Option<S>> {
        self.state.lock().expect("no drawing panics")
    }
}

impl<S> Drop for Region<S> {
    fn drop(&mut self) {
        if let Ok(mut state) = self.state.lock() {
            *state = None;
            draw(&[]);
        }
    }
}

/// Draws the lines as they are now, unless the region is closed. Returns whether it is open.
fn draw_state<S>(state: Option<&mut S>, lines: Lines<S>) -> bool {
    // The size of a terminal that does not report one.
    const USUAL: (usize, usize) = (80, 24);
    let Some(state) = state else { return false };
    let (width, height) = terminal_size(out::stderr()).unwrap_or(USUAL);
    let (width, height) = (width.max(2), if height == 0 { USUAL.1 } else { height.max(2) });
    // A line that fills its row leaves the cursor in a position that differs between terminals.
    draw(&lines(state, width - 1, height - 1));
    true
}

/// Draws these lines over the previous ones. The run continues without its terminal.
fn draw(lines: &[String]) {
    let _ = background::draw(&frame(lines), lines.is_empty());
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
