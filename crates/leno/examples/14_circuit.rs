//! A circuit: chips, and nets between their pins. A thermostat goes round for ever: the room is
//! measured, the heater is switched, the room changes. It ends when the day does, because then nobody
//! can ever wake anyone.

use leno::fibre::chip::{Chip, Circuit, function, iterate};
use leno::fibre::{In, Out};

/// With pins for the hour, for whether the heater is on, and for how warm it is.
type Room = Chip<(In<u32>, In<bool>, Out<i32>)>;

fn room() -> Room {
    Room::new("room", |cx, (hours, heater, warmth)| {
        let mut degrees = 17;
        for hour in hours.iter(cx) {
            warmth.write(cx, degrees);
            let is_on = heater.read(cx);
            println!("{hour:2} h: {degrees} degrees, heater {}", if is_on { "on" } else { "off" });
            degrees += if is_on { 2 } else { -1 };
        }
    })
}

fn main() {
    let ran = leno::run(|cx| {
        let mut circuit = Circuit::new();
        let hours = circuit.net("hours");
        let (warmth, heater) = (circuit.net("warmth"), circuit.net("heater"));
        circuit.add(iterate(6..12), &hours);
        circuit.add(room(), (&hours, &heater, &warmth));
        circuit.add(function(|degrees: i32| degrees < 20), (&warmth, &heater));
        circuit.start(cx).expect("all nets have readers and writers");

        // A circuit in which something is missing is refused before anything starts.
        let mut circuit = Circuit::new();
        let (warmth, heater) = (circuit.net("warmth"), circuit.net("heater"));
        circuit.add(function(|degrees: i32| degrees < 20), (&warmth, &heater));
        println!("refused: {}", circuit.start(cx).expect_err("nobody measures"));
    });
    println!("{}", ran.report());
}
