//! Text with NUL bytes, which PostgreSQL does not hold: the same on each store.

use leno_session::{SessionError, SessionId, Sessions, State, StoreError};

/// Of an engine that knows the routines `with_nul` and `good` of `hostile.rs`.
pub(crate) fn is_cleaned_or_refused(sessions: &Sessions) {
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
