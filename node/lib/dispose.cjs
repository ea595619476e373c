'use strict'

// What `await using` looks for. Before Node 18.18 and 20.4 the symbol does not exist, and compilers of `await using`
// bring their own under the registered name.
exports.asyncDispose = Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')
exports.dispose = Symbol.dispose ?? Symbol.for('Symbol.dispose')

/** Only the library makes its handles: each constructor asks for this. */
exports.made = Symbol('made by zkrecipes')
