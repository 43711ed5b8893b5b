// What the refused programs do wrong, done right.
use leno::fibre::{Cx, In, Out, channel, chip, isolated};

fn next(cx: &Cx<'_>, inp: &In<u32>) -> u32 {
    inp.read(cx)
}

fn both(cx: &Cx<'_>, inp: &In<u32>, out: &Out<u32>) {
    out.write(cx, next(cx, inp));
}

fn main() {
    leno::run(|cx| {
        let ((to, inp), (out, from)) = (channel(), channel());
        // Bound ends are used like free ones, and passed on by binding them anew.
        cx.spawn_bound((inp, out), |cx, (inp, out)| {
            cx.spawn_bound((inp.unbind(), out.unbind()), |cx, (inp, out)| both(cx, &inp, &out));
        });
        to.write(cx, 1);
        next(cx, &from);
    });
    isolated(|cx| channel::<u32>().1.read(cx));
    let mut circuit = chip::Circuit::new();
    let net = circuit.net::<i32>("net");
    circuit.add(chip::function(|n: i32| n), (&net, &net));
    leno::run(move |cx| circuit.start(cx).unwrap());
}
