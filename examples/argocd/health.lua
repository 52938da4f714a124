-- The health of MCPGateway, MCPBackend and MCPToolAlias in Argo CD, as Flux and `helm --wait` read it (kstatus):
-- stalled is Degraded, waiting for something is Progressing, ready is Healthy. See docs/gitops.md.
local status = obj.status or {}
local conditions = {}
for _, condition in ipairs(status.conditions or {}) do
  conditions[condition.type] = condition
end

local function holds(kind)
  return conditions[kind] ~= nil and conditions[kind].status == "True"
end

if status.observedGeneration ~= obj.metadata.generation then
  return {status = "Progressing", message = "the operator has not looked at this version yet"}
end
if holds("Stalled") then
  return {status = "Degraded", message = conditions.Stalled.message}
end
if holds("Ready") and not holds("Reconciling") then
  return {status = "Healthy", message = conditions.Ready.message}
end
local waiting = conditions.Reconciling or conditions.Ready or {}
return {status = "Progressing", message = waiting.message}
