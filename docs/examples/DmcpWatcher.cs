// DMCP 1.2 in Unity: reads a session's host and poses a humanoid rig with it. Uses only .NET's ClientWebSocket.
using System;
using System.Net.WebSockets;
using System.Text;
using System.Threading;
using System.Threading.Tasks;
using UnityEngine;

public class DmcpWatcher : MonoBehaviour
{
    public string url = "ws://127.0.0.1:8770/dmcp", session, token;
    public SkinnedMeshRenderer face;      // blend shapes named as in `welcome.weights`
    public Transform[] joints = new Transform[21]; // order of `welcome.joints`

    static readonly string[] Weights = {
        "browInnerUp", "browOuterUpLeft", "browOuterUpRight", "browDownLeft", "browDownRight", "eyeBlinkLeft", "eyeBlinkRight",
        "eyeWide", "eyeSquint", "eyeLookUp", "eyeLookDown", "eyeLookLeft", "eyeLookRight", "cheekPuff", "cheekSquint",
        "noseSneer", "jawOpen", "jawForward", "mouthClose", "mouthFunnel", "mouthPucker", "mouthSmileLeft", "mouthSmileRight",
        "mouthFrown", "mouthStretch", "mouthPress", "mouthUpperUp", "mouthLowerDown", "mouthRollLower", "mouthRollUpper",
        "mouthShrug", "tongueOut" };

    readonly CancellationTokenSource leaving = new CancellationTokenSource();
    Quaternion[] rest;
    byte[] newest; // replaced whole by the socket's task, read once a frame

    async void Start()
    {
        rest = Array.ConvertAll(joints, j => j == null ? Quaternion.identity : j.localRotation);
        try { await Run(); }
        catch (OperationCanceledException) { }
        catch (Exception error) { Debug.LogError("DMCP: " + error.Message); }
    }

    void OnDestroy() { leaving.Cancel(); }

    async Task Run()
    {
        using (var socket = new ClientWebSocket())
        {
            socket.Options.AddSubProtocol("dmcp.1.2");
            await socket.ConnectAsync(new Uri(url), leaving.Token);
            long now = DateTimeOffset.UtcNow.ToUnixTimeMilliseconds();
            string hello = "{\"type\":\"hello\",\"token\":\"" + token + "\",\"sid\":\"" + session +
                "\",\"role\":\"watch\",\"clock_ms\":" + now + ",\"encoding\":\"binary\",\"client\":\"unity\"}";
            await socket.SendAsync(new ArraySegment<byte>(Encoding.UTF8.GetBytes(hello)), WebSocketMessageType.Text, true, leaving.Token);
            var buffer = new byte[16384];
            while (socket.State == WebSocketState.Open)
            {
                int length = 0;
                WebSocketReceiveResult part;
                do
                {
                    part = await socket.ReceiveAsync(new ArraySegment<byte>(buffer, length, buffer.Length - length), leaving.Token);
                    length += part.Count;
                } while (!part.EndOfMessage);
                if (part.MessageType == WebSocketMessageType.Close) throw new Exception(socket.CloseStatusDescription);
                if (part.MessageType == WebSocketMessageType.Text) { Debug.Log(Encoding.UTF8.GetString(buffer, 0, length)); continue; }
                if (length != 250 || buffer[0] != 'D' || buffer[1] != 'M' || buffer[2] != 0x12 || buffer[3] != 1) continue;
                var frame = new byte[250];
                Buffer.BlockCopy(buffer, 0, frame, 0, 250);
                newest = frame;
            }
        }
    }

    void Update()
    {
        byte[] frame = Interlocked.Exchange(ref newest, null);
        if (frame == null) return;
        for (int i = 0; i < 32 && face != null; i++)
        {
            int shape = face.sharedMesh.GetBlendShapeIndex(Weights[i]);
            if (shape >= 0) face.SetBlendShapeWeight(shape, BitConverter.ToUInt16(frame, 18 + 2 * i) / 65535f * 100f);
        }
        for (int j = 0; j < 21; j++)
        {
            if (joints[j] == null) continue;
            int at = 82 + 8 * j;
            float x = BitConverter.ToInt16(frame, at) / 32767f, y = BitConverter.ToInt16(frame, at + 2) / 32767f;
            float z = BitConverter.ToInt16(frame, at + 4) / 32767f, w = BitConverter.ToInt16(frame, at + 6) / 32767f;
            // DMCP is right-handed (+X the host's left, +Y up, +Z forward), Unity left-handed: mirror X.
            joints[j].localRotation = new Quaternion(x, -y, -z, w).normalized * rest[j];
        }
    }
}
