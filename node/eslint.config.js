import js from '@eslint/js'
import globals from 'globals'

const rules = {
  'no-unused-vars': ['error', { args: 'none' }],
  'no-var': 'error',
  'object-shorthand': 'error',
  'prefer-const': 'error',
  eqeqeq: 'error',
}

export default [
  { ignores: ['node_modules/'] },
  js.configs.recommended,
  { files: ['**/*.cjs'], languageOptions: { sourceType: 'commonjs', globals: globals.node }, rules },
  { files: ['**/*.js', '**/*.mjs'], languageOptions: { sourceType: 'module', globals: globals.node }, rules },
  // As Jest takes them, unless told otherwise.
  { files: ['examples/node/jest/*.js'], languageOptions: { sourceType: 'commonjs', globals: { ...globals.node, ...globals.jest } }, rules },
]
