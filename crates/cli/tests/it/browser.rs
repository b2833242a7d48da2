//! A Chromium without a window, asked and told over a pipe. It reads files, reaches no host, and is gone when its test is.

use crate::call::poll;
use crate::harness::Stage;
use crate::skipped::skip_test;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use std::{env, fs, thread};

// What it is asked takes milliseconds; its start takes seconds on a machine with other work.
const PATIENCE: Duration = Duration::from_secs(60);

/// A network of its own, in which there is nothing. Its flags keep it from resolving names, but it still asks the system for
/// a way to some address at its start.
const ALONE: [&str; 2] = ["unshare", "-rn"];

/// What keeps it from every host, from the user's own browser, and from what a test's folder has no place for. Whoever is
/// root has no sandbox; nothing but our own page is shown in it.
const FLAGS: [&str; 15] = [
    "--headless",
    "--remote-debugging-pipe",
    "--no-sandbox",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--disable-breakpad",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--hide-scrollbars",
    "--no-default-browser-check",
    "--no-first-run",
    "--password-store=basic",
];

/// A browser with one page.
pub struct Browser {
    child: Child,
    stderr: PathBuf,
    answers: Receiver<Value>,
    /// The page, as it is called in what is asked.
    session: Value,
    asked: u64,
    /// What it told without being asked, since a page was opened.
    events: Vec<Value>,
}

/// What came of opening a page.
pub struct Visit {
    /// Errors and warnings of the page and of the browser about it.
    pub complaints: Vec<String>,
    /// What was read for it, by URL.
    pub requests: Vec<String>,
}

impl Browser {
    /// Starts a Chromium: the program that `LONGHAUL_TEST_CHROMIUM` names, else `chromium` on PATH. Where there is none, what
    /// it is wanted for is left out.
    pub fn start(stage: &Stage, what: &str) -> Option<Browser> {
        let Some(chromium) = chromium() else {
            skip_test(
                what,
                "there is no Chromium",
                "install chromium, or name one by LONGHAUL_TEST_CHROMIUM",
            );
            return None;
        };
        let stderr = stage.folder().join("browser.err");
        // It wants to be asked on one descriptor and to answer on another, neither of them a standard one.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$@\" 3<&0 4>&1 0</dev/null 1>&2", "sh"])
            .args(alone())
            .arg(chromium)
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", stage.folder().join("browser").display()))
            .env_clear()
            .env("PATH", env::var_os("PATH").unwrap_or_default())
            .env("HOME", stage.user_home())
            .env("TMPDIR", stage.folder())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(&stderr).expect("the stage can be written"))
            // What it starts is ended with it.
            .process_group(0)
            .spawn()
            .expect("there is a shell");
        let (told, answers) = channel();
        let stdout = BufReader::new(child.stdout.take().expect("stdout is piped"));
        thread::spawn(move || {
            for message in stdout.split(0).map_while(Result::ok) {
                let message = serde_json::from_slice(&message).expect("it speaks JSON");
                if told.send(message).is_err() {
                    return;
                }
            }
        });
        let mut browser =
            Browser { child, stderr, answers, session: Value::Null, asked: 0, events: Vec::new() };
        let page = browser.ask("Target.createTarget", json!({ "url": "about:blank" }));
        let page = json!({ "targetId": page["targetId"], "flatten": true });
        browser.session = browser.ask("Target.attachToTarget", page)["sessionId"].clone();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.ask(&format!("{domain}.enable"), json!({}));
        }
        browser.ask("Page.setLifecycleEventsEnabled", json!({ "enabled": true }));
        Some(browser)
    }

    /// From now on it has a screen of this size, a phone's if it is narrow, in the `light` or in the `dark`.
    pub fn is_a_screen(&mut self, width: u32, height: u32, scheme: &str) {
        let screen =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.ask("Emulation.setDeviceMetricsOverride", screen);
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.ask("Emulation.setEmulatedMedia", features);
    }

    /// Opens a page, and waits until all of it is there.
    pub fn open(&mut self, url: &str) -> Visit {
        self.events.clear();
        let opened = self.ask("Page.navigate", json!({ "url": url }));
        assert_eq!(opened["errorText"], Value::Null, "{url}: {opened}");
        // Of this page: the end of another one may still be told.
        let is_there = |event: &Value| {
            let told = &event["params"];
            told["name"] == "load" && told["loaderId"] == opened["loaderId"]
        };
        while !self.events.iter().any(is_there) {
            let event = self.heard("the page");
            self.events.push(event);
        }
        let of = |methods: &[&str]| -> Vec<&Value> {
            let method = |event: &&Value| methods.iter().any(|method| event["method"] == *method);
            self.events.iter().filter(method).map(|event| &event["params"]).collect()
        };
        let complaints = of(&["Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"]);
        let requests = of(&["Network.requestWillBeSent", "Network.webSocketCreated"]);
        let url = |request: &&Value| request["request"]["url"].as_str().unwrap_or("(none)").to_owned();
        Visit {
            complaints: complaints.iter().map(ToString::to_string).collect(),
            requests: requests.iter().map(url).collect(),
        }
    }

    /// What an expression is on this page.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let asked = json!({ "expression": expression, "returnByValue": true });
        let told = self.ask("Runtime.evaluate", asked);
        assert_eq!(told["exceptionDetails"], Value::Null, "{expression}: {told}");
        told["result"]["value"].clone()
    }

    /// What is on the screen, as Base64. Whoever wants to look at it names a folder by `LONGHAUL_TEST_PICTURES`.
    pub fn picture(&mut self, name: &str) -> String {
        let told = self.ask("Page.captureScreenshot", json!({ "format": "png" }));
        let picture = told["data"].as_str().expect("a picture").to_owned();
        if let Some(folder) = env::var_os("LONGHAUL_TEST_PICTURES") {
            keep(&picture, &Path::new(&folder).join(format!("{name}.png")));
        }
        picture
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        let mut message = json!({ "id": self.asked, "method": method, "params": params });
        if !self.session.is_null() {
            message["sessionId"] = self.session.clone();
        }
        let stdin = self.child.stdin.as_mut().expect("stdin is piped");
        let sent = stdin.write_all(format!("{message}\0").as_bytes());
        assert!(sent.is_ok(), "{method}: it is gone: {}", self.complaint());
        loop {
            let answer = self.heard(method);
            if answer["id"] == self.asked {
                assert_eq!(answer["error"], Value::Null, "{method}");
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    /// The next thing that it tells. It is not waited for for ever.
    fn heard(&self, what: &str) -> Value {
        let received = self.answers.recv_timeout(PATIENCE);
        received.unwrap_or_else(|error| panic!("{what}: {error}: {}", self.complaint()))
    }

    fn complaint(&self) -> String {
        fs::read_to_string(&self.stderr).unwrap_or_default()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It was not waited for, so that the number is its own, and that of its group.
        let group = Pid::from_raw(self.child.id().cast_signed()).expect("a child has a number");
        let _ = kill_process_group(group, Signal::KILL);
        let _ = self.child.wait();
        // What it had started is gone as soon as somebody has noticed.
        let _ = poll(|| test_kill_process_group(group).is_err().then_some(()));
    }
}

/// What gives it a network of its own, where this user may have one.
fn alone() -> &'static [&'static str] {
    let mut tried = Command::new(ALONE[0]);
    let tried = tried.args(&ALONE[1..]).arg("true").stderr(Stdio::null()).status();
    if tried.is_ok_and(|status| status.success()) { &ALONE } else { &[] }
}

fn chromium() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path = || env::split_paths(&path).map(|dir| dir.join("chromium")).find(|file| file.is_file());
    env::var_os("LONGHAUL_TEST_CHROMIUM").map(PathBuf::from).or_else(on_path)
}

fn keep(picture: &str, path: &Path) {
    let file = File::create(path).expect("the folder of the pictures can be written");
    let mut decode = Command::new("base64").arg("-d").stdin(Stdio::piped()).stdout(file).spawn();
    let decode = decode.as_mut().expect("there is base64");
    decode.stdin.take().expect("stdin is piped").write_all(picture.as_bytes()).expect("it reads");
    assert!(decode.wait().expect("it ends").success());
}
