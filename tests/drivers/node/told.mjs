// What is followed, and how the driver says what a feed tells: tests/drivers/README.md.

import { Config, Counter, Election, Group, Names, Partitioner } from '../../../node/lib/index.js'

/** `a=1,b=2`, sorted by name, or `-`. */
export function map(all) {
  const names = Object.keys(all).sort()
  return names.length === 0 ? '-' : names.map((name) => `${name}=${all[name]?.data ?? all[name] ?? '-'}`).join(',')
}

export const versioned = (found) => (found ? [found.version, found.value] : ['none'])

export const leading = (leader) =>
  leader ? [leader.identity, leader.epoch, leader.acknowledged ? 'acknowledged' : 'elected', String(leader.data) || '-'] : ['none']

const happened = ({ type, name, data, members }) => [type, members ? map(members) : name, ...(data ? [data] : [])]

const states = {
  data: (node) => (node ? [node.stat.version, node.data] : ['none']),
  children: (names) => [names === null ? 'none' : names.join(',') || '-'],
  subtree: (all) => [map(all)],
}

/** A node that may be followed. */
export class WatchedNode {
  constructor(client, path, kind) {
    this.told = states[kind]
    this.watch = () => client.nodes.watch(path, kind)
  }
}

export function tellerOf(handle) {
  if (handle instanceof Config) return versioned
  if (handle instanceof Election) return leading
  if (handle instanceof Counter) return (value) => [value]
  if (handle instanceof Names || handle instanceof Partitioner) return (all) => [map(all)]
  return handle instanceof Group ? happened : handle.told
}
