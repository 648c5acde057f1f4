/* Loaded before a program (`node --import`), it moves the program's clock by CLOCK_SHIFT_MS. Durations stay as they are. */
const shiftMs = Number(process.env.CLOCK_SHIFT_MS);
const { now } = Date;
Date.now = () => now() + shiftMs;
