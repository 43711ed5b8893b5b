//! Endless loops that end: a fibre whom nobody can ever wake is removed, and its destructors run.
//! And a mistake that a report names: someone keeps an end that it will never use.

use leno::fibre::{channel, named_channel};

struct Says(&'static str);

impl Drop for Says {
    fn drop(&mut self) {
        println!("{} ends", self.0);
    }
}

fn main() {
    let ran = leno::run(|cx| {
        let (out, inp) = channel();
        cx.spawn(move |cx| {
            let _guard = Says("source");
            (1..=10).for_each(|i| out.write(cx, i));
        });
        cx.spawn(move |cx| {
            let _guard = Says("sink");
            loop {
                println!("{}", inp.read(cx));
            }
        });
    });
    println!("{}", ran.report());

    // Two that wait for each other. Their ends are bound, so that it is known: nobody else could help.
    let ran = leno::run(|cx| {
        let ((out1, in1), (out2, in2)) = (channel::<u32>(), channel::<u32>());
        for (name, inp, out) in [("chicken", in1, out2), ("egg", in2, out1)] {
            cx.spawn_bound((inp, out), move |cx, (inp, out)| {
                let _guard = Says(name);
                out.write(cx, inp.read(cx));
            });
        }
    });
    println!("{}", ran.report());

    // The end to write to is kept outside, and forgotten there.
    let (_kept, inp) = named_channel::<u32>("orders");
    let ran = leno::run(move |cx| {
        cx.spawner().name("clerk").spawn(move |cx| inp.read(cx));
    });
    for zombie in ran.zombies() {
        let who = zombie.alive.name.as_str().unwrap_or("someone");
        println!("{who} could be woken by {}", zombie.known_to.join(", "));
    }
}
