//! The rules by name, for counting and telling which one has been applied.

use core::fmt;

/// A rule of Dovland 2006, chapter 4, or a variant that its gaps and mistakes make necessary.
///
/// The functions of [`model`](crate::model) say what each does, in the notation of that work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// 4.1: a body ends, and nobody has called it.
    EndAlone,
    /// 4.2: a body ends, and a coroutine has called it.
    EndToCoroutine,
    /// 4.3: a coroutine creates another.
    CreateByCoroutine,
    /// 4.4: a coroutine calls another.
    CallByCoroutine,
    /// 4.5: detach from a coroutine.
    DetachFromCoroutine,
    /// 4.6: detach, and nobody has called it.
    DetachAlone,
    /// 4.7: resume.
    Resume,
    /// 4.8: a coroutine kicks one whose chain ends in an idle one.
    KickByCoroutine,
    /// 4.8φ1: the same, and the chain's bottom is active. Dovland 2006 has it for threads only.
    KickByCoroutineActive,
    /// 4.8φ2: the same, and the chain's bottom is waiting. Dovland 2006 has it for threads only.
    KickByCoroutineWaiting,
    /// 4.9: passivate.
    Passivate,
    /// 4.10: yield.
    Yield,
    /// 4.11: a thread creates a coroutine.
    CreateByThread,
    /// 4.12: a thread calls an idle coroutine that is free. It is 4.12φ2 and 4.17 in one.
    CallByThread,
    /// 4.12φ1: a thread calls a coroutine that has a callee.
    CallByThreadChain,
    /// 4.12φ2: a thread calls a coroutine that has none.
    CallByThreadPlain,
    /// 4.13: a body ends, and a thread has called it.
    EndToThread,
    /// 4.14: detach from a thread.
    DetachFromThread,
    /// 4.15: a thread kicks a coroutine whose chain ends in an idle one.
    KickByThread,
    /// 4.15φ1: the same, and the chain's bottom is active.
    KickByThreadActive,
    /// 4.15φ2: the same, and the chain's bottom is waiting.
    KickByThreadWaiting,
    /// 4.16: a waiting coroutine becomes active.
    Schedule,
    /// 4.16 with the function F: an attached-only coroutine that nobody has called stays idle.
    ScheduleInVain,
    /// 4.17: a pending call is attached.
    AttachCall,
    /// 4.18: a pending kick is served.
    AttachKick,
    /// 4.6.1: a spinning body has ended and begins again.
    Spin,
    /// 8.3, wished for: a coroutine calls one that is busy, and waits for its turn.
    CallWait,
    /// Not in Dovland 2006: a prod of one whose chain ends in an idle one, which runs.
    Prod,
    /// The same, and the chain's bottom is busy: the prod ends the next passivate of the one named.
    ProdKept,
    /// 4.9, with a prod that was kept: it goes on as if it were kicked.
    PassivateProdded,
    /// Not in Dovland 2006: a coroutine waits for something outside its system.
    Park,
    /// What it waits for has happened.
    Return,
    /// Not in Dovland 2006: a caller gives up before its call is served.
    WithdrawPending,
    /// A caller gives up while its call is served: the one called goes on without it.
    WithdrawServed,
}

impl Rule {
    /// All of them, with their numbers.
    pub const ALL: [(Rule, &'static str); 34] = [
        (Rule::EndAlone, "4.1"),
        (Rule::EndToCoroutine, "4.2"),
        (Rule::CreateByCoroutine, "4.3"),
        (Rule::CallByCoroutine, "4.4"),
        (Rule::DetachFromCoroutine, "4.5"),
        (Rule::DetachAlone, "4.6"),
        (Rule::Resume, "4.7"),
        (Rule::KickByCoroutine, "4.8"),
        (Rule::KickByCoroutineActive, "4.8φ1"),
        (Rule::KickByCoroutineWaiting, "4.8φ2"),
        (Rule::Passivate, "4.9"),
        (Rule::Yield, "4.10"),
        (Rule::CreateByThread, "4.11"),
        (Rule::CallByThread, "4.12"),
        (Rule::CallByThreadChain, "4.12φ1"),
        (Rule::CallByThreadPlain, "4.12φ2"),
        (Rule::EndToThread, "4.13"),
        (Rule::DetachFromThread, "4.14"),
        (Rule::KickByThread, "4.15"),
        (Rule::KickByThreadActive, "4.15φ1"),
        (Rule::KickByThreadWaiting, "4.15φ2"),
        (Rule::Schedule, "4.16"),
        (Rule::ScheduleInVain, "4.16F"),
        (Rule::AttachCall, "4.17"),
        (Rule::AttachKick, "4.18"),
        (Rule::Spin, "4.6.1"),
        (Rule::CallWait, "4.4w"),
        (Rule::Prod, "4.8p"),
        (Rule::ProdKept, "4.8pφ"),
        (Rule::PassivateProdded, "4.9p"),
        (Rule::Park, "park"),
        (Rule::Return, "return"),
        (Rule::WithdrawPending, "withdrawφ"),
        (Rule::WithdrawServed, "withdraw"),
    ];

    /// Its number in Dovland 2006; of what is not there, a word or a letter more.
    pub fn number(self) -> &'static str {
        Rule::ALL[self as usize].1
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.number())
    }
}

#[cfg(test)]
mod tests {
    use super::Rule;

    #[test]
    fn every_rule_is_at_its_place_in_the_list() {
        for (place, (rule, number)) in Rule::ALL.into_iter().enumerate() {
            assert_eq!((rule as usize, rule.number()), (place, number));
        }
    }
}
