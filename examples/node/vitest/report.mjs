/** Of all who call it at the same time, one writes the report. Stops when the lock is lost. */
export async function writeReport(client, part = async () => {}) {
  return client.lock('/locks/report').run(async (held) => {
    if (await client.nodes.exists('/report')) return false
    await part(held.signal)
    await held.guarded().create('/report', 'done').commit()
    return true
  })
}
