//! Images that people read and edit.

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::bounded::Bounded;
use super::limits::Limits;
use super::storing::Storing;
use crate::error::ImageError;
use crate::persist::Persist;
use crate::scope::NO_TABLES;

pub(crate) const START: &str = "{\"leno\":1,\"frames\":[";
pub(crate) const END_OF_FRAME: &str = "}},";
pub(crate) const END_OF_FRAMES: &str = "]";
pub(crate) const END: &str = "}";

/// One frame of a JSON image, as people and [`crate::Options::migrate`] see it.
///
/// Values that an expression had computed when it was suspended are beside the variables, named `$1`, `$2`
/// and so on. An external is `{"$ext": name}`; a shared value is `{"$shared": number, "value": ..}` where
/// it is first met, and `{"$shared": number}` from then on.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct FrameImage {
    /// The function's name, with its module.
    #[serde(rename = "fn")]
    pub function: String,
    /// The label of the suspension it is at.
    #[serde(rename = "at")]
    pub point: String,
    /// Its variables and expression values.
    pub locals: Map<String, Value>,
}

impl FrameImage {
    /// The variables of the source.
    pub fn variables(&self) -> impl Iterator<Item = (&str, &Value)> {
        let all = self.locals.iter().filter(|(name, _)| !name.starts_with('$'));
        all.map(|(name, value)| (name.as_str(), value))
    }

    /// The values of the expression that was suspended.
    pub fn expression(&self) -> impl Iterator<Item = (&str, &Value)> {
        let all = self.locals.iter().filter(|(name, _)| name.starts_with('$'));
        all.map(|(name, value)| (name.as_str(), value))
    }

    /// What an external or a shared value is called, if that is what the local is.
    pub fn reference(&self, local: &str) -> Option<String> {
        let value = self.locals.get(local)?.as_object()?;
        let name = |key: &str| {
            value.get(key).map(|name| name.as_str().map_or_else(|| name.to_string(), str::to_owned))
        };
        name("$ext").or_else(|| name("$shared"))
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct JsonImage {
    leno: u8,
    pub frames: Vec<FrameImage>,
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub yielded: Option<Value>,
}

/// A value that is there, also if it is `null`.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl JsonImage {
    pub(crate) fn new(frames: Vec<FrameImage>) -> Self {
        JsonImage { leno: super::VERSION, frames, yielded: None }
    }

    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, ImageError> {
        let image: JsonImage =
            crate::json::from_slice(bytes).map_err(|error| ImageError::Json(error.to_string()))?;
        if image.leno == super::VERSION { Ok(image) } else { Err(ImageError::Version(image.leno)) }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut writer = serde_json::Serializer::pretty(Vec::new());
        let written = self.serialize(Storing(&mut writer, &Limits::writing(NO_TABLES)));
        written.unwrap_or_else(|error| panic!("these frames cannot be written: {error}"));
        writer.into_inner()
    }

    /// How many frames there are. What they hold is only skipped, which does not recurse.
    pub(crate) fn depth(bytes: &[u8]) -> usize {
        #[derive(Deserialize)]
        struct Outline {
            frames: Vec<IgnoredAny>,
        }
        serde_json::from_slice::<Outline>(bytes).map_or(0, |image| image.frames.len())
    }
}

pub(crate) fn begin(bytes: &mut Vec<u8>, function: &str, label: &str) {
    bytes.extend_from_slice(b"{\"fn\":");
    text(bytes, function);
    bytes.extend_from_slice(b",\"at\":");
    text(bytes, label);
    bytes.extend_from_slice(b",\"locals\":{");
}

pub(crate) fn put<T: Persist>(
    bytes: &mut Vec<u8>,
    name: &str,
    value: &T,
    limits: &Limits,
) -> Result<(), String> {
    text(bytes, name);
    bytes.push(b':');
    write(bytes, value, limits).map_err(|error| error.to_string())
}

pub(crate) fn put_yielded<T: Persist>(
    bytes: &mut Vec<u8>,
    value: &T,
    limits: &Limits,
) -> Result<(), String> {
    bytes.extend_from_slice(b",\"yielded\":");
    write(bytes, value, limits).map_err(|error| error.to_string())
}

/// Reads a value that all the bytes are of.
pub(crate) fn read<T: DeserializeOwned>(bytes: &[u8], limits: &Limits) -> serde_json::Result<T> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = T::deserialize(Bounded(&mut reader, limits))?;
    reader.end()?;
    Ok(value)
}

pub(crate) fn write<T: Serialize + ?Sized>(
    bytes: &mut Vec<u8>,
    value: &T,
    limits: &Limits,
) -> serde_json::Result<()> {
    let mut writer = serde_json::Serializer::new(bytes);
    value.serialize(Storing(&mut writer, limits))
}

fn text(bytes: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(bytes, text).expect("text is JSON");
}
