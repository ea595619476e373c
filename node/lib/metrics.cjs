'use strict'

/** A snapshot of the addon as an object, each row of the core's table under its name. */
function snapshot(rows, prometheus) {
  const metrics = {}
  for (const { name, count, counts, millis, histogram } of rows) {
    metrics[name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase())] = count ?? counts ?? histogram ?? millis
  }
  return Object.freeze({ ...metrics, prometheus })
}

module.exports = { snapshot }
