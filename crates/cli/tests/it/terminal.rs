//! A terminal in memory that runs a program and returns the current content of its screen.

use crate::call::poll;
use crate::harness::{LONGHAUL, Stage};
use crate::server::Server;
use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

/// Columns and rows.
type Size = (u16, u16);

/// Opens a terminal: its control end and its screen. It belongs to no session: its Ctrl-C must not interrupt other
/// tests.
pub fn open_terminal() -> (File, File) {
    let control = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("there are terminals");
    grantpt(&control).and_then(|()| unlockpt(&control)).expect("the test owns the file");
    let name =
        ptsname(&control, Vec::new()).expect("the terminal has a name").into_string().expect("a plain one");
    let flags = OFlags::NOCTTY.bits().cast_signed();
    let screen = OpenOptions::new().read(true).write(true).custom_flags(flags).open(name);
    (File::from(control), screen.expect("opening succeeds"))
}

/// A program whose stdout and stderr are a terminal. It does not outlive its test.
pub struct Terminal {
    child: Option<Child>,
    control: File,
    state: Arc<Mutex<ScreenState>>,
    reader: Option<JoinHandle<()>>,
}

struct ScreenState {
    parser: vt100::Parser,
    written: Vec<u8>,
}

impl Terminal {
    /// Starts the binary under test on a terminal of this size.
    pub fn start(stage: &Stage, server: &Server, args: &[String], size: Size) -> Terminal {
        Terminal::start_with_type(stage, server, args, size, "xterm-256color")
    }

    /// Like [`Terminal::start`], on a terminal of this type.
    pub fn start_with_type(
        stage: &Stage,
        server: &Server,
        args: &[String],
        size: Size,
        term: &str,
    ) -> Terminal {
        let (control, screen) = open_terminal();
        set_size(&control, size);
        let child = Command::new(LONGHAUL)
            .args(args)
            .env_clear()
            .env("PATH", std::env::var("PATH").unwrap_or_default())
            .envs([("LONGHAUL_HOME", stage.home()), ("HOME", stage.user_home())])
            .env("TMPDIR", stage.folder())
            .envs([("TZ", "UTC"), ("IS_SANDBOX", "1"), ("TERM", term), ("PAGER", "cat")])
            .envs(server.api.environment())
            .current_dir(stage.folder())
            .stdin(Stdio::null())
            .stdout(screen.try_clone().expect("the descriptor can be duplicated"))
            .stderr(screen)
            .spawn()
            .expect("the program starts");
        let (width, height) = size;
        let state = ScreenState { parser: vt100::Parser::new(height, width, 0), written: Vec::new() };
        let state = Arc::new(Mutex::new(state));
        let mut output = control.try_clone().expect("the descriptor can be duplicated");
        let sink = Arc::clone(&state);
        let reader = thread::spawn(move || {
            let mut bytes = [0; 4096];
            // Reading fails once no process has the other end open.
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                let mut state = sink.lock().expect("no reader panics");
                state.parser.process(&bytes[..count]);
                state.written.extend(&bytes[..count]);
            }
        });
        Terminal { child: Some(child), control, state, reader: Some(reader) }
    }

    pub fn resize(&self, size: Size) {
        let (width, height) = size;
        self.state.lock().expect("no reader panics").parser.screen_mut().set_size(height, width);
        set_size(&self.control, size);
    }

    /// Types keys. The terminal echoes them.
    pub fn type_keys(&self, keys: &[u8]) {
        (&self.control).write_all(keys).expect("a terminal accepts keys");
    }

    pub fn signal(&self, signal: Signal) {
        let child = self.child.as_ref().expect("the program has not been awaited");
        let pid = Pid::from_raw(child.id().cast_signed()).expect("a child has a PID");
        kill_process(pid, signal).expect("an unreaped child keeps its PID");
    }

    /// Returns the rows of the screen without trailing spaces.
    pub fn rows(&self) -> Vec<String> {
        let state = self.state.lock().expect("no reader panics");
        let (_, width) = state.parser.screen().size();
        state.parser.screen().rows(0, width).map(|row| row.trim_end().to_owned()).collect()
    }

    pub fn shows(&self, text: &str) -> bool {
        self.rows().iter().any(|row| row.contains(text))
    }

    /// Returns all output with its control characters.
    pub fn written(&self) -> String {
        String::from_utf8_lossy(&self.state.lock().expect("no reader panics").written).into_owned()
    }

    /// Waits until the program exits and returns its exit code.
    pub fn wait(&mut self) -> Option<i32> {
        let mut child = self.child.take().expect("the program is awaited once");
        let status = poll(|| child.try_wait().expect("a child can be awaited")).expect("the program exits");
        let reader = self.reader.take().expect("the thread is joined once");
        poll(|| reader.is_finished().then_some(())).expect("no process keeps the terminal");
        status.code()
    }
}

fn set_size(control: &File, (width, height): Size) {
    let size = Winsize { ws_row: height, ws_col: width, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(control, size).expect("a terminal has a size");
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if self.child.is_some() {
            // A supervisor stops its agent on SIGTERM.
            self.signal(Signal::TERM);
            if let Some(mut child) = self.child.take() {
                let _ = child.wait();
            }
        }
    }
}
