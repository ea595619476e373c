'use strict'

// Which build of the addon is loaded here.

const file = `./zkrecipes-${process.platform}-${process.arch}.node`

function load() {
  try {
    return require(file)
  } catch (error) {
    if (error.code !== 'MODULE_NOT_FOUND') throw error
    const platform = `${process.platform}-${process.arch}`
    throw new Error(`this package of zkrecipes has no build for ${platform}; build it there with "npm run build"`, { cause: error })
  }
}

module.exports = load()
