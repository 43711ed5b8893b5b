//! The value a coroutine is suspended with, stored beside its frames: a question that is still to be answered.
#![forbid(unsafe_code)]

use std::sync::Arc;

use leno_frame::{Co, Ext, Format, Image, Options, RestoreError, Resumable, State, resumable};

#[resumable]
async fn asking(co: &mut Co<String, String>, host: Ext<String>) -> String {
    let name = co.suspend(format!("{}: your name?", *host)).await;
    let town = co.suspend(format!("{}: your town, {name}?", *host)).await;
    format!("{name} of {town}")
}

#[test]
fn it_is_stored_on_request() {
    let host = Arc::new("inn".to_owned());
    let options = Options::new().bind("host", host.clone());
    for format in [Format::Postcard, Format::Json] {
        let (mut co, state) = Resumable::start(&mut (), asking, (Ext::new("host", host.clone()),));
        let State::Suspended(question) = state else { panic!("it asks first") };
        let plain = co.snapshot(format).unwrap();
        assert_eq!(plain.yielded::<String>(&options), Ok(None));
        let bytes = co.snapshot_with(format, &question).unwrap().into_bytes();
        let image = Image::from_bytes(bytes).unwrap();
        assert_eq!(image.yielded(&options), Ok(Some("inn: your name?".to_owned())));
        let error = image.yielded::<Vec<u64>>(&options).unwrap_err();
        assert!(matches!(error, RestoreError::Yielded(_)), "{error}");
        let mut co = Resumable::restore(asking, &image, &options).unwrap();
        let state = co.resume(&mut (), "Ann".into());
        assert_eq!(state, State::Suspended("inn: your town, Ann?".into()));
    }
}

#[resumable]
async fn nothing(co: &mut Co<()>) {
    co.suspend(()).await;
}

#[test]
fn nothing_is_a_value_too() {
    let (mut co, _) = Resumable::start(&mut (), nothing, ());
    for format in [Format::Postcard, Format::Json] {
        let image = co.snapshot_with(format, &()).unwrap();
        assert_eq!(image.yielded::<()>(&Options::new()), Ok(Some(())));
    }
}

#[resumable]
async fn asked(co: &mut Co<&'static str, u32>, question: String) -> u32 {
    co.suspend(if question.is_empty() { "what?" } else { "how much?" }).await
}

#[resumable]
async fn asks_twice(co: &mut Co<&'static str, u32>) -> u32 {
    let first = asked(co, String::new()).await;
    first * asked(co, "again".to_owned()).await
}

/// What is yielded may be a reference; a body is `Send` all the same, also where it calls.
#[test]
fn yielded_references_pass_through_calls() {
    fn is_send<T: Send>(_: &T) {}
    let (mut asking, state) = Resumable::start(&mut (), asks_twice, ());
    is_send(&asking);
    assert_eq!(state, State::Suspended("what?"));
    assert_eq!(asking.resume(&mut (), 6), State::Suspended("how much?"));
    let bytes = asking.snapshot(Format::Postcard).unwrap().into_bytes();
    let image = Image::from_bytes(bytes).unwrap();
    let mut stored = Resumable::restore(asks_twice, &image, &Options::new()).unwrap();
    assert_eq!(stored.resume(&mut (), 7), State::Complete(42));
}
