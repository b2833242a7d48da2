//! Stores paths and arguments in JSON files without loss: on Unix they are bytes, though most are text. The
//! form in the file is never shown to people.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// A path or an argument. In JSON it is a string, or `{"unix_bytes": […]}` if it is not UTF-8.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(from = "Wire", into = "Wire")]
pub struct OsText(OsString);

impl OsText {
    /// Returns the text as the system's type.
    pub fn as_os_str(&self) -> &OsStr {
        &self.0
    }

    /// Returns the text as a path.
    pub fn as_path(&self) -> &Path {
        Path::new(&self.0)
    }
}

pub(crate) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    OsText::from(path).serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    OsText::deserialize(deserializer).map(|text| text.0.into())
}

#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
enum Wire {
    Text(String),
    Bytes {
        /// The bytes, which are not UTF-8.
        unix_bytes: Vec<u8>,
    },
}

impl From<Wire> for OsText {
    fn from(wire: Wire) -> OsText {
        match wire {
            Wire::Text(text) => OsText(text.into()),
            Wire::Bytes { unix_bytes } => OsText(OsString::from_vec(unix_bytes)),
        }
    }
}

impl From<OsText> for Wire {
    fn from(text: OsText) -> Wire {
        match text.0.into_string() {
            Ok(text) => Wire::Text(text),
            Err(bytes) => Wire::Bytes { unix_bytes: bytes.as_bytes().to_vec() },
        }
    }
}

impl<T: Into<OsString>> From<T> for OsText {
    fn from(text: T) -> OsText {
        OsText(text.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_any_bytes() {
        for (bytes, json) in [
            (b"/tmp/a b".as_slice(), r#""/tmp/a b""#),
            (b"", r#""""#),
            (b"/\xff/x", r#"{"unix_bytes":[47,255,47,120]}"#),
        ] {
            let text = OsText::from(OsString::from_vec(bytes.to_vec()));
            assert_eq!(serde_json::to_string(&text).expect("JSON"), json);
            assert_eq!(serde_json::from_str::<OsText>(json).expect("text"), text);
        }
    }
}
