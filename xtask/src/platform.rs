//! The platforms that packages exist for.

use std::env;

/// A platform, under the names that each package format has for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Platform {
    /// Target of the Rust compiler.
    pub triple: &'static str,
    /// `process.platform` of Node.
    pub node_os: &'static str,
    /// `process.arch` of Node.
    pub node_cpu: &'static str,
    /// `std::env::consts::OS` of a machine that runs the program.
    os: &'static str,
    /// `std::env::consts::ARCH` of such a machine.
    arch: &'static str,
}

pub const PLATFORMS: [Platform; 3] = [
    Platform {
        triple: "x86_64-unknown-linux-musl",
        node_os: "linux",
        node_cpu: "x64",
        os: "linux",
        arch: "x86_64",
    },
    Platform {
        triple: "aarch64-unknown-linux-musl",
        node_os: "linux",
        node_cpu: "arm64",
        os: "linux",
        arch: "aarch64",
    },
    Platform {
        triple: "aarch64-apple-darwin",
        node_os: "darwin",
        node_cpu: "arm64",
        os: "macos",
        arch: "aarch64",
    },
];

impl Platform {
    pub fn is_macos(self) -> bool {
        self.os == "macos"
    }

    /// Returns the program that translates the instructions of a Linux program, or `None` if this machine runs it.
    pub fn emulator(self) -> Option<&'static str> {
        let emulator = if self.arch == "x86_64" { "qemu-x86_64" } else { "qemu-aarch64" };
        (Platform::host() != Some(self)).then_some(emulator)
    }

    /// Returns the platform of this machine, or `None` if no package exists for it.
    pub fn host() -> Option<Platform> {
        PLATFORMS
            .into_iter()
            .find(|platform| (platform.os, platform.arch) == (env::consts::OS, env::consts::ARCH))
    }

    /// Name of the npm package with the program, without its scope.
    pub fn npm_name(self) -> String {
        format!("{}-{}", self.node_os, self.node_cpu)
    }
}
