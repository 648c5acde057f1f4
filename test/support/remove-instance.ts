/**
 * Returns the SQL that removes the instances of a condition as another instance does, but without ending their connections; it returns
 * their backends.
 */
export function removalOf(condition: string): string {
  return `with removed as (delete from instances where ${condition} returning number, backend_pid),
    buried as (insert into removed_instances select number, 0 from removed)
    select backend_pid from removed`;
}
