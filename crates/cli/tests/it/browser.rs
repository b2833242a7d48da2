//! A headless Chromium that tests control over a pipe. It reads files, reaches no host, and exits with its
//! test.

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

// A request takes milliseconds. The start takes seconds on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A network namespace without any host. The browser's flags keep it from resolving names, but at its start
/// it still asks the system for a route to some address.
const ISOLATED_NETWORK: [&str; 2] = ["unshare", "-rn"];

/// Flags that keep the browser away from every host and from the user's own browser, and turn off features
/// that need more than a test directory. Chromium has no sandbox under root, but it only shows Longhaul's own
/// page.
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
    /// Session id of the page, sent with each request.
    session: Value,
    /// Id of the last request.
    last_id: u64,
    /// Events received since a page was opened.
    events: Vec<Value>,
}

/// Result of opening a page.
pub struct Visit {
    /// Errors and warnings of the page and of the browser about it.
    pub messages: Vec<String>,
    /// URLs that the page requested.
    pub requests: Vec<String>,
}

impl Browser {
    /// Starts the Chromium that `LONGHAUL_TEST_CHROMIUM` names, or else `chromium` on `PATH`. If there is
    /// none, skips the test named `test` and returns `None`.
    pub fn start(stage: &Stage, test: &str) -> Option<Browser> {
        let Some(chromium) = chromium() else {
            skip_test(
                test,
                "there is no Chromium",
                "install chromium, or name one by LONGHAUL_TEST_CHROMIUM",
            );
            return None;
        };
        let stderr = stage.folder().join("browser.err");
        // Chromium reads requests on descriptor 3 and answers on descriptor 4.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$@\" 3<&0 4>&1 0</dev/null 1>&2", "sh"])
            .args(network_isolation())
            .arg(chromium)
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", stage.folder().join("browser").display()))
            .env_clear()
            .env("PATH", env::var_os("PATH").unwrap_or_default())
            .env("HOME", stage.user_home())
            .env("TMPDIR", stage.folder())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(&stderr).expect("the stage is writable"))
            // Its own process group, so that `drop` also kills its child processes.
            .process_group(0)
            .spawn()
            .expect("there is a shell");
        let (sender, answers) = channel();
        let stdout = BufReader::new(child.stdout.take().expect("stdout is piped"));
        thread::spawn(move || {
            for message in stdout.split(0).map_while(Result::ok) {
                let message = serde_json::from_slice(&message).expect("Chromium sends JSON");
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let mut browser =
            Browser { child, stderr, answers, session: Value::Null, last_id: 0, events: Vec::new() };
        let page = browser.request("Target.createTarget", json!({ "url": "about:blank" }));
        let page = json!({ "targetId": page["targetId"], "flatten": true });
        browser.session = browser.request("Target.attachToTarget", page)["sessionId"].clone();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.request(&format!("{domain}.enable"), json!({}));
        }
        browser.request("Page.setLifecycleEventsEnabled", json!({ "enabled": true }));
        Some(browser)
    }

    /// Sets the size of the screen and the color scheme, `light` or `dark`. A narrow screen is that of a
    /// phone.
    pub fn set_screen(&mut self, width: u32, height: u32, scheme: &str) {
        let screen =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.request("Emulation.setDeviceMetricsOverride", screen);
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.request("Emulation.setEmulatedMedia", features);
    }

    /// Opens a page and waits until it is fully loaded.
    pub fn open(&mut self, url: &str) -> Visit {
        self.events.clear();
        let opened = self.request("Page.navigate", json!({ "url": url }));
        assert_eq!(opened["errorText"], Value::Null, "{url}: {opened}");
        // Only events of this page count, because the load event of the previous page may still arrive.
        let is_loaded = |event: &Value| {
            let params = &event["params"];
            params["name"] == "load" && params["loaderId"] == opened["loaderId"]
        };
        while !self.events.iter().any(is_loaded) {
            let event = self.receive("the page");
            self.events.push(event);
        }
        let events_of = |methods: &[&str]| -> Vec<&Value> {
            let method = |event: &&Value| methods.iter().any(|method| event["method"] == *method);
            self.events.iter().filter(method).map(|event| &event["params"]).collect()
        };
        let messages = events_of(&["Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"]);
        let requests = events_of(&["Network.requestWillBeSent", "Network.webSocketCreated"]);
        let url = |request: &&Value| request["request"]["url"].as_str().unwrap_or("(none)").to_owned();
        Visit {
            messages: messages.iter().map(ToString::to_string).collect(),
            requests: requests.iter().map(url).collect(),
        }
    }

    /// Evaluates a JavaScript expression on this page and returns its value.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let params = json!({ "expression": expression, "returnByValue": true });
        let answer = self.request("Runtime.evaluate", params);
        assert_eq!(answer["exceptionDetails"], Value::Null, "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Returns a screenshot in Base64. Also saves it in the directory that `LONGHAUL_TEST_PICTURES` names, if
    /// it is set.
    pub fn screenshot(&mut self, name: &str) -> String {
        let answer = self.request("Page.captureScreenshot", json!({ "format": "png" }));
        let screenshot = answer["data"].as_str().expect("a screenshot").to_owned();
        if let Some(folder) = env::var_os("LONGHAUL_TEST_PICTURES") {
            save_screenshot(&screenshot, &Path::new(&folder).join(format!("{name}.png")));
        }
        screenshot
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let mut message = json!({ "id": self.last_id, "method": method, "params": params });
        if !self.session.is_null() {
            message["sessionId"] = self.session.clone();
        }
        let stdin = self.child.stdin.as_mut().expect("stdin is piped");
        let sent = stdin.write_all(format!("{message}\0").as_bytes());
        assert!(sent.is_ok(), "{method}: the browser has exited: {}", self.stderr_text());
        loop {
            let answer = self.receive(method);
            if answer["id"] == self.last_id {
                assert_eq!(answer["error"], Value::Null, "{method}");
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    /// Returns the next message from the browser. Panics if none arrives in time.
    fn receive(&self, context: &str) -> Value {
        let received = self.answers.recv_timeout(TIMEOUT);
        received.unwrap_or_else(|error| panic!("{context}: {error}: {}", self.stderr_text()))
    }

    fn stderr_text(&self) -> String {
        fs::read_to_string(&self.stderr).unwrap_or_default()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The child was not reaped, so its PID and its process group still belong to it.
        let group = Pid::from_raw(self.child.id().cast_signed()).expect("a child has a PID");
        let _ = kill_process_group(group, Signal::KILL);
        let _ = self.child.wait();
        // Its child processes disappear once init has reaped them.
        let _ = poll(|| test_kill_process_group(group).is_err().then_some(()));
    }
}

/// Returns the command that isolates the browser's network. It is empty if this user may not create
/// namespaces.
fn network_isolation() -> &'static [&'static str] {
    let mut command = Command::new(ISOLATED_NETWORK[0]);
    let status = command.args(&ISOLATED_NETWORK[1..]).arg("true").stderr(Stdio::null()).status();
    if status.is_ok_and(|status| status.success()) { &ISOLATED_NETWORK } else { &[] }
}

fn chromium() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path = || env::split_paths(&path).map(|dir| dir.join("chromium")).find(|file| file.is_file());
    env::var_os("LONGHAUL_TEST_CHROMIUM").map(PathBuf::from).or_else(on_path)
}

fn save_screenshot(screenshot: &str, path: &Path) {
    let file = File::create(path).expect("the directory for screenshots is writable");
    let mut decode = Command::new("base64").arg("-d").stdin(Stdio::piped()).stdout(file).spawn();
    let decode = decode.as_mut().expect("there is base64");
    decode
        .stdin
        .take()
        .expect("stdin is piped")
        .write_all(screenshot.as_bytes())
        .expect("base64 reads its input");
    assert!(decode.wait().expect("the program exits").success());
}
