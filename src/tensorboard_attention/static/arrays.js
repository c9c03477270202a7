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

const ABREAST = 4; // rows of a product that are summed beside each other: they share what is read

// A vector, or a matrix whose rows are whole numbers -127..127 times a scale of the row. Rows of zeros
// fill up the last rows abreast.
export function arrayOf({ shape, numbers, scales }) {
  if (scales === null) return floatsOf(numbers);
  const whole = new Int8Array(bytesOf(numbers).buffer);
  const [rows, columns] = shape;
  const values = new Float32Array(Math.ceil(rows / ABREAST) * ABREAST * columns);
  floatsOf(scales).forEach((scale, row) => {
    for (let place = row * columns; place < (row + 1) * columns; place += 1) values[place] = whole[place] * scale;
  });
  return { rows, columns, values };
}

export function rowAt({ columns, values }, row) {
  return Float64Array.from(values.subarray(row * columns, (row + 1) * columns));
}

export function product({ rows, columns, values }, vector) {
  const found = new Float64Array(values.length / columns);
  const [second, third, fourth] = [columns, 2 * columns, 3 * columns];
  for (let row = 0; row < rows; row += ABREAST) {
    let [a, b, c, d] = [0, 0, 0, 0];
    for (let place = 0, at = row * columns; place < columns; place += 1, at += 1) {
      const number = vector[place];
      a += values[at] * number;
      b += values[at + second] * number;
      c += values[at + third] * number;
      d += values[at + fourth] * number;
    }
    found.set([a, b, c, d], row);
  }
  return found.subarray(0, rows);
}

export function plus(first, ...others) {
  const sum = Float64Array.from(first);
  for (const other of others) for (let place = 0; place < sum.length; place += 1) sum[place] += other[place];
  return sum;
}

export function inner(first, second) {
  return first.reduce((sum, number, place) => sum + number * second[place], 0);
}

export function joined(...vectors) {
  return Float64Array.from(vectors.flatMap((vector) => [...vector]));
}

export function weightedMean(vectors, weights) {
  const mean = new Float64Array(vectors[0].length);
  for (let number = 0; number < vectors.length; number += 1) {
    const [vector, weight] = [vectors[number], weights[number]];
    for (let place = 0; place < mean.length; place += 1) mean[place] += weight * vector[place];
  }
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
