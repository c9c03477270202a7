// Arrays as the page's model holds them, and the few operations that a network is made of.

function bytesOf(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let place = 0; place < bytes.length; place += 1) bytes[place] = text.charCodeAt(place);
  return bytes;
}

export function floatsOf(base64) {
  return new Float32Array(bytesOf(base64).buffer);
}

// A vector, or a matrix whose rows are whole numbers -127..127 times a scale of the row.
export function arrayOf({ shape, numbers, scales }) {
  if (scales === null) return floatsOf(numbers);
  const whole = new Int8Array(bytesOf(numbers).buffer);
  const [rows, columns] = shape;
  const values = new Float32Array(whole.length);
  floatsOf(scales).forEach((scale, row) => {
    for (let place = row * columns; place < (row + 1) * columns; place += 1) values[place] = whole[place] * scale;
  });
  return { rows, columns, values };
}

export function rowAt({ columns, values }, row) {
  return Float64Array.from(values.subarray(row * columns, (row + 1) * columns));
}

// Four sums at a time: a processor adds them side by side.
export function product({ rows, columns, values }, vector) {
  const found = new Float64Array(rows);
  const even = columns - (columns % 4);
  for (let row = 0; row < rows; row += 1) {
    const start = row * columns;
    let [a, b, c, d] = [0, 0, 0, 0];
    for (let place = 0; place < even; place += 4) {
      const at = start + place;
      a += values[at] * vector[place];
      b += values[at + 1] * vector[place + 1];
      c += values[at + 2] * vector[place + 2];
      d += values[at + 3] * vector[place + 3];
    }
    for (let place = even; place < columns; place += 1) a += values[start + place] * vector[place];
    found[row] = a + b + (c + d);
  }
  return found;
}

export function plus(first, ...others) {
  return first.map((number, place) => others.reduce((sum, other) => sum + other[place], number));
}

export function inner(first, second) {
  return first.reduce((sum, number, place) => sum + number * second[place], 0);
}

export function joined(...vectors) {
  return Float64Array.from(vectors.flatMap((vector) => [...vector]));
}

export function weightedMean(vectors, weights) {
  const mean = new Float64Array(vectors[0].length);
  vectors.forEach((vector, number) => vector.forEach((value, place) => (mean[place] += weights[number] * value)));
  return mean;
}

export function logSoftmax(scores) {
  const greatest = scores.reduce((most, score) => Math.max(most, score), -Infinity);
  const total = scores.reduce((sum, score) => sum + Math.exp(score - greatest), 0);
  return scores.map((score) => score - greatest - Math.log(total));
}

export function sigmoid(number) {
  return 1 / (1 + Math.exp(-number));
}
