import { concerns, conflictText, type ConflictWatch, isProblem, namesOnTwoBuses } from "./conflicts.ts";
import { type DeviceRow, deviceTitle } from "./device_rows.ts";
import { momentText } from "./time_text.ts";

/** What was seen of addresses since the page was opened; nothing is shown where nothing was. */
export function Conflicts({ watch, devices, only }: {
  watch: ConflictWatch;
  devices: readonly DeviceRow[];
  /** Shows those of one device. */
  only?: DeviceRow;
}) {
  const titleOf = (name: string) => {
    const device = devices.find((each) => each.name === name);
    return device ? `${deviceTitle(device)} (${name})` : name;
  };
  const seen = watch.conflicts.filter((each) => only === undefined || concerns(each, only));
  const twice = [...namesOnTwoBuses(devices)].filter(([name]) => only === undefined || only.name === name);
  if (seen.length + twice.length === 0) return null;
  return (
    <ul class="dev-conflicts card" role="status">
      {twice.map(([name, found]) => (
        <li key={name} class="warn">
          One NAME on two buses, {found.map(({ bus, src }) => `${bus} address ${src}`).join(" and ")}: {titleOf(name)}
        </li>
      ))}
      {seen.map((each) => {
        const text = conflictText(each, titleOf);
        return (
          <li key={text} class={isProblem(each) ? "bad" : ""}>
            <span class="num">{momentText(each.timeMs, 1000)}</span> {text}
          </li>
        );
      })}
    </ul>
  );
}
