//! Text with NUL bytes, which PostgreSQL does not hold: the same on each store.

use leno_frame::{Co, resumable};
use leno_session::{SessionError, SessionId, Sessions, Stage, State, StoreError, Wait};

type Order = Co<Wait, Option<String>, Stage>;

/// One that is all right.
#[resumable]
pub(crate) async fn good(co: &mut Order, n: u32) -> u32 {
    let _answer = co.suspend(Wait::step()).await;
    n + 1
}

#[resumable]
async fn with_nul(co: &mut Order, what: String) -> String {
    let _answer = co.suspend(Wait::step()).await;
    if what == "topic" {
        co.ctx().effect("a\0b", "x");
    }
    assert!(what != "panic", "a\0b");
    "said\0so".into()
}

pub(crate) fn is_cleaned_or_refused(sessions: Sessions) {
    let sessions = sessions.register("with_nul", with_nul).register("good", good);
    let whats = ["panic", "topic", "result"];
    let bad = whats.map(|what| sessions.start("with_nul", &(what,)).unwrap());
    let good: Vec<_> = (0..9).map(|_| (SessionId::random(), (1_u32,))).collect();
    sessions.start_all("good", good.clone()).unwrap();
    sessions.work_off().unwrap();
    let rows = bad.map(|id| sessions.show(id).unwrap());
    assert_eq!(rows.each_ref().map(|row| row.state), [State::Failed, State::Failed, State::Done]);
    assert_eq!(rows[0].reason, "a\u{fffd}b");
    assert!(rows[1].reason.contains("the topic of an effect has no NUL byte"));
    assert_eq!(rows[2].text(), "said\0so", "as JSON it is escaped");
    for (id, _) in good {
        assert_eq!(sessions.show(id).unwrap().state, State::Done);
    }
    assert_eq!(sessions.metrics().isolated, 0, "nothing of it gets to the store");
    let refused = sessions.answer_once(bad[0], "a\0b", b"x").unwrap_err();
    assert!(matches!(refused, SessionError::Store(StoreError::Refused(_))), "{refused}");
    sessions.cancel(bad[0], "a\0b").unwrap();
    assert_eq!(sessions.show(bad[0]).unwrap().reason, "a\u{fffd}b");
}
