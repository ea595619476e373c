'use strict'

// Finds the addon of this platform: in a checkout where scripts/build.mjs puts it, else in the package of this platform, which
// npm chooses by its `os`, `cpu` and `libc` among the optional dependencies.

const { closeSync, openSync, readSync } = require('node:fs')

const SCOPE = '@zkrecipes/'

/** What this process runs on, in the names of the packages. */
function platformOf({ platform, arch, execPath } = process) {
  const names = [platform, arch]
  if (platform === 'linux') names.push(libcOf(execPath))
  return names.join('-')
}

/** The C library that a program asks for: its loader's path stands at the beginning of the file. */
function libcOf(program) {
  const head = Buffer.alloc(4096)
  try {
    const file = openSync(program, 'r')
    try {
      readSync(file, head, 0, head.length, 0)
    } finally {
      closeSync(file)
    }
  } catch {
    // It runs all the same; nearly everybody has glibc.
  }
  return head.includes('/ld-musl-') ? 'musl' : 'gnu'
}

function load(platform = platformOf(), { load = require, packaged = require('../package.json') } = {}) {
  for (const file of [`../native/${platform}/zkrecipes.node`, `${SCOPE}${platform}`]) {
    try {
      return load(file)
    } catch (error) {
      // It is there: the next one would only hide what is wrong with it.
      if (error.code !== 'MODULE_NOT_FOUND') throw unusable(platform, error)
      // Only the last one tells.
      if (file.startsWith(SCOPE)) throw missing(platform, packaged, error)
    }
  }
}

function unusable(platform, cause) {
  const needs = platform.endsWith('-gnu') ? ' It needs glibc 2.17 or later.' : ''
  return new Error(`the native part of zkrecipes for ${platform} is there and cannot be loaded: ${cause.message}.${needs}`, { cause })
}

function missing(platform, { version, optionalDependencies = {} }, cause) {
  const built = Object.keys(optionalDependencies)
    .filter((name) => name.startsWith(SCOPE))
    .map((name) => name.slice(SCOPE.length))
  const advice = built.includes(platform)
    ? `${SCOPE}${platform} is not installed. npm leaves it out with --omit=optional or --no-optional, and when package-lock.json ` +
      `or node_modules comes from another platform. Install it: npm install ${SCOPE}${platform}@${version}`
    : `there is none for ${platform}${built.length ? `, only for ${built.join(', ')}` : ''}. ` +
      'With Rust it can be built from a checkout of zkrecipes, by "make build-node" there'
  return new Error(`zkrecipes needs its native part: ${advice}`, { cause })
}

module.exports = { libcOf, load, platformOf }
