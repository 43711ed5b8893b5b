//! Images and later builds: the same function, changed in one way or another.
#![forbid(unsafe_code)]

use leno_frame::{Format, Image, Options, RestoreError, Resumable, State};

/// A build of the function `shop::checkout`: what an order is, and what the body is.
macro_rules! build {
    ($name:ident, { $($field:tt)* }, $co:ident, $id:ident, { $($body:tt)* }) => {
        mod $name {
            #[allow(dead_code)]
            #[derive(serde::Serialize, serde::Deserialize)]
            pub(super) struct Order { $($field)* }

            #[leno_frame::resumable(id = "shop::checkout")]
            pub(super) async fn checkout($co: &mut leno_frame::Co<String, String>, $id: u64) -> String {
                $($body)*
            }
        }
    };
}

build!(first, { id: u64, qty: u32 }, co, id, {
    let order = Order { id, qty: 2 };
    let who = co.suspend("who?".into()).await;
    let paid = co.suspend("pay".into()).await;
    format!("{who} {paid} {} {}", order.id, order.qty)
});
build!(edited_elsewhere, { id: u64, qty: u32 }, co, id, {
    let order = Order { id, qty: 2 };
    let who = co.suspend("Your name, please?".into()).await;
    if who.is_empty() {
        return "nobody".into();
    }
    let why = if who == "Eve" { co.suspend("why?".into()).await } else { String::new() };
    let paid = co.suspend("pay".into()).await;
    format!("later {who}{why} {paid} {} {}", order.id, order.qty)
});
build!(new_field, { id: u64, qty: u32, #[serde(default)] note: Option<String> }, co, id, {
    let order = Order { id, qty: 2, note: None };
    let who = co.suspend("who?".into()).await;
    let paid = co.suspend("pay".into()).await;
    format!("{who} {paid} {} {} {:?}", order.id, order.qty, order.note)
});
build!(new_local, { id: u64, qty: u32 }, co, id, {
    let order = Order { id, qty: 2 };
    let currency = String::from("EUR");
    let who = co.suspend("who?".into()).await;
    let paid = co.suspend("pay".into()).await;
    format!("{who} {paid} {} {} {currency}", order.id, order.qty)
});
build!(other_label, { id: u64, qty: u32 }, co, id, {
    let order = Order { id, qty: 2 };
    let customer = co.suspend("who?".into()).await;
    let paid = co.suspend("pay".into()).await;
    format!("{customer} {paid} {} {}", order.id, order.qty)
});
build!(other_type, { id: u64, qty: u64 }, co, id, {
    let order = Order { id, qty: 2 };
    let who = co.suspend("who?".into()).await;
    let paid = co.suspend("pay".into()).await;
    format!("{who} {paid} {} {}", order.id, order.qty)
});

/// The first build's images at its first suspension.
fn images() -> [Image; 2] {
    let (mut co, _) = Resumable::start(&mut (), first::checkout, (9,));
    [Format::Postcard, Format::Json].map(|format| co.snapshot(format).unwrap())
}

#[test]
fn s70_code_may_change_between_suspensions() {
    for image in images() {
        let mut co =
            Resumable::restore(edited_elsewhere::checkout, &image, &Options::new()).unwrap();
        co.resume(&mut (), "Ann".into());
        assert_eq!(co.resume(&mut (), "ok".into()), State::Complete("later Ann ok 9 2".into()));
    }
}

#[test]
fn s70_another_version_is_refused_and_the_error_says_what_has_changed() {
    let [compact, json] = images();
    macro_rules! error {
        ($build:ident, $image:expr) => {
            Resumable::restore($build::checkout, $image, &Options::new()).unwrap_err().to_string()
        };
    }
    assert!(error!(new_field, &compact).contains("another shape"));
    let error = error!(new_local, &compact);
    assert!(error.contains("`order`, `currency`") && error.contains("1 values"), "{error}");
    assert!(error!(new_local, &json).contains("has no `currency`"));
    assert!(error!(other_label, &compact).contains("it does at `customer` (line "));
    let error = error!(other_label, &json);
    assert!(error.contains("suspended at `who`") && error.contains("`paid`"), "{error}");
    assert!(error!(other_type, &compact).contains("another shape"));
}

#[test]
fn s70_json_is_read_by_name_with_the_defaults_that_serde_knows() {
    let [_, json] = images();
    assert!(Resumable::restore(new_field::checkout, &json, &Options::new()).is_ok());
    assert!(Resumable::restore(other_type::checkout, &json, &Options::new()).is_ok());
}

#[test]
fn s70_hooks_rename_and_migrate() {
    let [compact, json] = images();
    let add = Options::new().migrate(|frame| {
        if frame.function == "shop::checkout" && frame.point == "who" {
            frame.locals.insert("currency".into(), "NZD".into());
        }
    });
    let mut co = Resumable::restore(new_local::checkout, &json, &add).unwrap();
    co.resume(&mut (), "Ann".into());
    assert_eq!(co.resume(&mut (), "ok".into()), State::Complete("Ann ok 9 2 NZD".into()));
    let relabel = Options::new().migrate(|frame| frame.point = "customer".into());
    assert!(Resumable::restore(other_label::checkout, &json, &relabel).is_ok());
    for image in [&compact, &json] {
        let rename = Options::new().rename("shop::checkout", "shop::other");
        let error = Resumable::restore(first::checkout, image, &rename).unwrap_err();
        assert!(matches!(error, RestoreError::OtherFunction { .. }), "{error}");
    }
}

mod renamed {
    #[derive(serde::Serialize, serde::Deserialize)]
    struct Order {
        id: u64,
        qty: u32,
    }

    #[leno_frame::resumable(id = "shop::order")]
    pub(super) async fn order(co: &mut leno_frame::Co<String, String>, id: u64) -> String {
        let order = Order { id, qty: 2 };
        let who = co.suspend("who?".into()).await;
        format!("{who} {} {}", order.id, order.qty)
    }
}

#[test]
fn s70_a_renamed_function_is_found_by_its_old_name() {
    for image in images() {
        let error = Resumable::restore(renamed::order, &image, &Options::new()).unwrap_err();
        assert!(error.to_string().contains("`shop::order`"), "{error}");
        let options = Options::new().rename("shop::checkout", "shop::order");
        let mut co = Resumable::restore(renamed::order, &image, &options).unwrap();
        assert_eq!(co.resume(&mut (), "Ann".into()), State::Complete("Ann 9 2".into()));
    }
}
